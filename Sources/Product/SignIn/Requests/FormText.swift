/// `application/x-www-form-urlencoded`, as queries and token requests are written. A value may
/// hold bytes that should have been escaped, since an app sends its redirect address as it is.
package struct FormText: Sendable {
    private let pairs: [(name: String, value: String)]

    package init(_ text: String) {
        var pairs: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")).prefix(64) {
            let halves = part.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(halves[0]),
                let value = halves.count > 1 ? Self.decode(halves[1]) : ""
            else { continue }
            pairs.append((name, value))
        }
        self.pairs = pairs
    }

    package func first(_ name: String) -> String? {
        pairs.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// Whether a name is given twice, which is ambiguous.
    package func isRepeated(_ name: String) -> Bool {
        pairs.count { $0.name.utf8.elementsEqual(name.utf8) } > 1
    }

    /// The pairs escaped again, `&` between them.
    package static func encode(_ pairs: [(String, String)]) -> String {
        pairs.map { escape($0.0) + "=" + escape($0.1) }.joined(separator: "&")
    }

    /// RFC 3986 unreserved characters stay, all else is escaped.
    package static func escape(_ text: String) -> String {
        let hex = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: out.append(byte)
            default: out += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func decode(_ bytes: some Sequence<UInt8>) -> String? {
        var out: [UInt8] = []
        let bytes = Array(bytes)
        var at = 0
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "%") {
                guard at + 2 < bytes.count, let high = digit(bytes[at + 1]),
                    let low = digit(bytes[at + 2])
                else { return nil }
                out.append(high << 4 | low)
                at += 3
            } else {
                out.append(bytes[at] == UInt8(ascii: "+") ? 0x20 : bytes[at])
                at += 1
            }
        }
        return String(validating: out, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
}
