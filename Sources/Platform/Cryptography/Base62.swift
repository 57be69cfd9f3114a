/// Digits, then upper, then lower case: text that a double click selects whole. Fixed widths, so
/// that a value has one spelling.
package enum Base62 {
    private static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// So many characters, each equally likely.
    package static func random(_ count: Int) -> String {
        var text: [UInt8] = []
        while text.count < count {
            // 248 is the greatest multiple of 62 in a byte: what lies above would favour some.
            for byte in RandomBytes.make(count - text.count) where byte < 248 {
                text.append(alphabet[Int(byte % 62)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes as one big-endian number, padded with `0` to the width that their count needs
    /// (32 bytes: 43 characters).
    package static func encode(_ bytes: [UInt8]) -> String {
        var number = bytes
        var digits: [UInt8] = []
        for _ in 0..<width(of: bytes.count) {
            var rest = 0
            for index in number.indices {
                let value = rest << 8 | Int(number[index])
                number[index] = UInt8(value / 62)
                rest = value % 62
            }
            digits.append(alphabet[rest])
        }
        return String(decoding: digits.reversed(), as: UTF8.self)
    }

    /// Six characters, as for a check sum at the end of a key.
    package static func encode(_ value: UInt32) -> String {
        encode([
            UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255),
            UInt8(value & 255),
        ])
    }

    /// `count` bytes from exactly the width that `encode` gives them; nil for anything else.
    package static func decode(_ text: some StringProtocol, count: Int) -> [UInt8]? {
        guard text.utf8.count == width(of: count) else { return nil }
        var number = [UInt8](repeating: 0, count: count)
        for byte in text.utf8 {
            guard var carry = digit(byte) else { return nil }
            for index in number.indices.reversed() {
                carry += Int(number[index]) * 62
                number[index] = UInt8(carry & 255)
                carry >>= 8
            }
            guard carry == 0 else { return nil }
        }
        return number
    }

    /// The least number of base-62 digits for so many bytes: 8 / log2(62), rounded up.
    private static func width(of bytes: Int) -> Int {
        (bytes * 134_359 + 99_999) / 100_000
    }

    private static func digit(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte - 0x30)
        case 0x41...0x5A: Int(byte - 0x41) + 10
        case 0x61...0x7A: Int(byte - 0x61) + 36
        default: nil
        }
    }
}
