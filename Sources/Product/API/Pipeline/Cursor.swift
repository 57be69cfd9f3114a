import Cryptography
import JSON
import Text

/// A position in an ordered list: the sort key and id of an item. Opaque on the wire, and bound by
/// a checksum to its list. It grants nothing, so the checksum needs no secret: it prevents using
/// one list's cursor in another by mistake.
package struct Cursor: Sendable, Equatable {
    package var key: String
    package var id: UUID
    /// The count of the list's first page, so that no other page has to count.
    package var total: Total?

    package init(key: String, id: UUID, total: Total? = nil) {
        self.key = key
        self.id = id
        self.total = total
    }

    /// Path, sort and filters; not the limit, which may change from page to page.
    static func identity(of path: String, _ query: Input) -> String {
        let parts = query.members.filter {
            !sameBytes($0.name, "cursor") && !sameBytes($0.name, "limit")
        }
        .map { $0.name + "=" + String(decoding: $0.value.encoded(), as: UTF8.self) }
        return path + "?" + parts.sorted().joined(separator: "&")
    }

    func encoded(for list: String) -> String {
        var bytes: [UInt8] = []
        let counted = total.map { UInt64($0.value) << 1 | ($0.exact ? 1 : 0) }
        for word in [id.high, id.low, counted ?? .max] { append(word, to: &bytes) }
        bytes += Array(key.utf8)
        append(checksum(bytes, list), to: &bytes)
        return Base64URL.encode(bytes)
    }

    init?(_ text: String, of list: String) {
        guard let bytes = Base64URL.decode(text), bytes.count >= 32 else { return nil }
        let content = Array(bytes.dropLast(8))
        guard word(bytes.suffix(8)) == checksum(content, list),
            let key = String(validating: content.dropFirst(24), as: UTF8.self),
            // PostgreSQL's text cannot contain NUL.
            !key.utf8.contains(0)
        else { return nil }
        self.key = key
        id = UUID(high: word(content[0..<8]), low: word(content[8..<16]))
        let counted = word(content[16..<24])
        total = counted == .max ? nil : Total(Int(clamping: counted >> 1), exact: counted & 1 == 1)
    }
}

private func append(_ word: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
    }
}

private func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

/// FNV-1a, 64 bits, over the content and the list's identity.
private func checksum(_ bytes: [UInt8], _ list: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes + Array(list.utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
}
