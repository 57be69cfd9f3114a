/// Operations on bytes: text must not be compared by canonical equivalence, and to divide it into characters
/// takes longer than the rest of a start.
enum AssetBytes {
    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Each line without its end; the last one may be empty.
    static func forEachLine(
        of text: ArraySlice<UInt8>, _ body: (_ line: ArraySlice<UInt8>, _ isLast: Bool) -> Void
    ) {
        var rest = text
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            body(rest[..<end], false)
            rest = rest[(end + 1)...]
        }
        body(rest, true)
    }

    /// The first place of `wanted`.
    static func range(of wanted: String, in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        var rest = bytes
        while let first = wanted.utf8.first, let at = rest.firstIndex(of: first) {
            if rest[at...].starts(with: wanted.utf8) { return at..<(at + wanted.utf8.count) }
            rest = rest[(at + 1)...]
        }
        return nil
    }

    static func trim(_ bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(bytes[first...last])
    }

    static func lowercased(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Every `old` in `bytes` replaced by `new`.
    static func replace(_ old: String, by new: String, in bytes: [UInt8]) -> [UInt8] {
        let old = Array(old.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            if bytes[at] == old[0], bytes[at...].starts(with: old) {
                result += new.utf8
                at += old.count
            } else {
                result.append(bytes[at])
                at += 1
            }
        }
        return result
    }
}

/// 64-bit FNV-1a: identifies a version of our own files, so collisions are not attacked.
struct ContentHash {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: [UInt8]) {
        // Hash the length first, so that moving bytes between parts changes the hash.
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { for byte in $0 { mix(byte) } }
        for byte in bytes { mix(byte) }
    }

    private mutating func mix(_ byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }

    var hexadecimal: String {
        let digits = String(state, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// Content types by the end of the name.
enum ContentType {
    static let html = "text/html; charset=utf-8"

    static func of(path: String) -> String? {
        guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        switch String(path[dot...]) {
        case ".html": return html
        case ".js": return "text/javascript; charset=utf-8"
        case ".css": return "text/css; charset=utf-8"
        case ".svg": return "image/svg+xml"
        case ".png": return "image/png"
        case ".json": return "application/json"
        case ".webmanifest": return "application/manifest+json"
        case ".txt": return "text/plain; charset=utf-8"
        default: return nil
        }
    }
}
