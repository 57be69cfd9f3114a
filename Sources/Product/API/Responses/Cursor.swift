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
            !$0.name.isSame(as: "cursor") && !$0.name.isSame(as: "limit")
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
        return Base64URL.encoded(bytes)
    }

    init?(_ text: String, of list: String) {
        guard let bytes = Base64URL.decoded(text), bytes.count >= 32 else { return nil }
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

private func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
}

/// FNV-1a, 64 bits, over the content and the list's identity.
private func checksum(_ bytes: [UInt8], _ list: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes + Array(list.utf8) {
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return hash
}

/// RFC 4648 §5 without padding; strict: the bits after the last byte are zero.
enum Base64URL {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encoded(_ bytes: [UInt8]) -> String {
        var out: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                out.append(alphabet[Int(bits >> count & 63)])
            }
        }
        if count > 0 { out.append(alphabet[Int(bits << (6 - count) & 63)]) }
        return String(decoding: out, as: UTF8.self)
    }

    static func decoded(_ text: String) -> [UInt8]? {
        var out: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in text.utf8 {
            guard let value = alphabet.firstIndex(of: byte) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                out.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        guard count < 6, bits & ((1 << count) - 1) == 0 else { return nil }
        return out
    }
}
