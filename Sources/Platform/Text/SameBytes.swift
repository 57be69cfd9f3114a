import Glibc

/// Whether two texts have the same UTF-8 bytes. Swift's own `==` follows Unicode's canonical
/// equivalence, so it treats some texts as equal that the database keeps apart.
package func sameBytes(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    var (left, right) = (left, right)
    return left.withUTF8 { one in
        right.withUTF8 { memcmp(one.baseAddress!, $0.baseAddress!, $0.count) == 0 }
    }
}

/// Whether two texts have the same bytes, ignoring the case of ASCII letters.
package func sameBytesIgnoringASCIICase(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { asciiLower($0) == asciiLower($1) }
}

/// Returns the text with ASCII letters in lower case and all other bytes unchanged.
package func asciiLowercased(_ text: String) -> String {
    String(decoding: text.utf8.map(asciiLower), as: UTF8.self)
}

private func asciiLower(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
}

/// Operations on ASCII bytes, for protocol comparisons.
package enum ASCII {
    package static func lower(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }

    package static func lower(_ bytes: some Sequence<UInt8>) -> [UInt8] { bytes.map { lower($0) } }

    package static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    package static func isLowerOrDigit(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || isDigit(byte)
    }

    /// Whether the bytes are a host label in canonical form: 1–63 of `a-z 0-9 -`, with no hyphen at
    /// either end.
    static func isLabel(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
        guard let first = bytes.first, let last = bytes.last, bytes.count <= 63 else {
            return false
        }
        return isLowerOrDigit(first) && isLowerOrDigit(last)
            && bytes.allSatisfy { isLowerOrDigit($0) || $0 == UInt8(ascii: "-") }
    }

    /// Reads a decimal number of 1 to `digits` digits without a leading zero; `nil` for anything
    /// else.
    package static func number(_ bytes: some Collection<UInt8>, digits: Int) -> Int? {
        guard !bytes.isEmpty, bytes.count <= digits, bytes.allSatisfy(isDigit),
            bytes.count == 1 || bytes.first != 0x30
        else { return nil }
        return bytes.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
