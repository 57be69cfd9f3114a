/// Digits `0-9A-Za-z`, and the checksum in them.
package enum Base62 {
    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    package static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }

    /// `count` digits, each equally likely.
    package static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in digits[Int.random(in: 0..<62, using: &generator)] }
    }

    /// The same as text: for references and slugs, and secrets from 22 on (128 bits).
    package static func randomText(_ count: Int) -> String {
        String(decoding: random(count), as: UTF8.self)
    }

    /// The CRC-32 of `bytes`, most significant digit first, padded with `0` to 6.
    package static func checksum(of bytes: some Collection<UInt8>) -> [UInt8] {
        var rest = crc32(bytes)
        var out = [UInt8](repeating: digits[0], count: 6)
        for at in stride(from: 5, through: 0, by: -1) {
            out[at] = digits[Int(rest % 62)]
            rest /= 62
        }
        return out
    }

    /// CRC-32 (IEEE 802.3), as zlib's.
    package static func crc32(_ bytes: some Collection<UInt8>) -> UInt32 {
        let table = crcTable
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            let index = UInt8(truncatingIfNeeded: value) ^ byte
            value = (value >> 8) ^ table[Int(index)]
        }
        return ~value
    }

    private static let crcTable: [UInt32] = (0..<256).map { index in
        var value = UInt32(index)
        for _ in 0..<8 { value = value & 1 == 1 ? (value >> 1) ^ 0xEDB8_8320 : value >> 1 }
        return value
    }
}
