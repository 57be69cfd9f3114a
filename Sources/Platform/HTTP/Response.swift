/// A response. The encoder writes `Date`, `Content-Length`, `Connection` and framing.
package struct Response: Sendable {
    package var status: Int
    /// Names in lower case; the writer drops those that it sets itself.
    package var fields: [Field]
    package var body: Body

    package enum Body: Sendable {
        case empty
        case bytes([UInt8])
        /// Pulled piece by piece until nil; sent chunked, with back-pressure from the socket.
        case stream(@Sendable () async throws -> [UInt8]?)
    }

    package init(_ status: Int, fields: [Field] = [], body: Body = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    package init(_ status: Int, type: String, _ bytes: [UInt8]) {
        self.init(status, fields: [Field("content-type", type)], body: .bytes(bytes))
    }

    /// Replaces every field of that name by one; `name` in lower case.
    package mutating func set(_ name: String, _ value: String) {
        fields.removeAll { $0.name == name }
        fields.append(Field(name, value))
    }

    /// The first value of a field; `name` in lower case.
    package func first(_ name: String) -> String? {
        for field in fields where field.name == name { return field.value }
        return nil
    }

    /// Makes the browser use only https for a year (RFC 6797).
    package static let strictTransportSecurity: StaticString = "max-age=31536000"

    /// Only for responses over TLS.
    package mutating func keepToTLS() {
        guard first("strict-transport-security") == nil else { return }
        fields.append(
            Field("strict-transport-security", Self.strictTransportSecurity.description))
    }
}
