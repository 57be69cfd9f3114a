/// A JSON document as text, bound as `jsonb`.
package struct JSONB: PostgresEncodable, PostgresDecodable, Hashable {
    /// The document as written; the server checks it and stores it in its own order.
    package var text: String

    /// `text` must be one JSON document: PostgreSQL refuses anything else.
    package init(_ text: String) { self.text = text }

    package static var postgresType: UInt32 { TypeOID.jsonb }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(1)
        bytes.append(contentsOf: text.utf8)
        return true
    }

    /// Reads `jsonb` and any text type; nil for an unknown version byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> JSONB? {
        String.decode(bytes, type: type).map(JSONB.init)
    }
}
