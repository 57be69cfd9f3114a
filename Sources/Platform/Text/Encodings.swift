/// Converts between bytes and hexadecimal. Letters are written in lower case.
package enum Hex {
    private static let alphabet = Array("0123456789abcdef".utf8)

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            text.append(alphabet[Int(byte >> 4)])
            text.append(alphabet[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes hexadecimal in either case; `nil` for an odd number of digits or any other
    /// character.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for byte in text.utf8 {
            guard let digit = hexDigit(byte) else { return nil }
            if let half = high {
                bytes.append(half << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? bytes : nil
    }
}

/// Returns the value of a hexadecimal digit in either case; `nil` for any other byte.
package func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
}

/// Base32 (RFC 4648 section 6) without padding. Authenticator apps expect a seed in this form.
package enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// Encodes bytes in capital letters and digits. Zero bits fill up the last character.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var held = 0
        var bits = 0
        for byte in bytes {
            held = (held << 8 | Int(byte)) & 0xFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(alphabet[held >> bits & 31])
            }
        }
        if bits > 0 { text.append(alphabet[held << (5 - bits) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Base64 with padding (RFC 4648 section 4), as used in mail.
package enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.enumerated().reduce(UInt32(0)) {
                $0 | UInt32($1.element) << UInt32(16 - 8 * $1.offset)
            }
            for index in 0..<4 {
                text.append(
                    index <= group.count
                        ? alphabet[Int(bits >> UInt32(18 - 6 * index)) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
