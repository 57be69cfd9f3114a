/// The text of an API key. It begins with `gate_live_` or `gate_test_`. Then follow 42 base62
/// digits: 6 for the tenant's locator, 30 random digits, and 6 for a checksum.
package struct APIKeySecret: Sendable, Equatable {
    /// Whether a key is for live or for test use; the raw value follows `gate_` in the key.
    package enum Environment: String, Sendable, CaseIterable { case live, test }

    /// The locator in the keys that belong to the platform instead of a tenant.
    package static let platformLocator = "000000"
    /// The number of random base62 digits in a key. Together they have about 178 bits.
    static let randomLength = 30
    package static let length = 52

    /// The whole secret. It is shown once, and never stored or logged.
    package let text: String
    /// Whether the key is for live or for test use, as the text says at its start.
    package let environment: Environment
    /// Six base62 digits that identify the key's tenant.
    package let locator: String

    /// Parses a presented text. Returns nil if the form or the checksum is wrong, so that a typo or
    /// a random text costs no database query.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        let read = bytes.withUnsafeBufferPointer { Self(bytes: $0) }
        guard let read else { return nil }
        self = read
    }

    package init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == Self.length, bytes[10...].allSatisfy(Base62.isDigit) else {
            return nil
        }
        if bytes.starts(with: "gate_live_".utf8) {
            environment = .live
        } else if bytes.starts(with: "gate_test_".utf8) {
            environment = .test
        } else {
            return nil
        }
        guard Base62.checksum(of: bytes[..<46]).elementsEqual(bytes[46...]) else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
        locator = String(decoding: bytes[10..<16], as: UTF8.self)
    }

    /// Makes a new key. Returns nil if `random` is not 30 base62 digits, or if `locator` is not 6.
    static func make(
        environment: Environment, locator: String, random: [UInt8]
    ) -> APIKeySecret? {
        let body = Array("gate_\(environment.rawValue)_".utf8) + Array(locator.utf8) + random
        guard body.count == 46 else { return nil }
        return APIKeySecret(String(decoding: body + Base62.checksum(of: body[...]), as: UTF8.self))
    }

    /// Makes a new key from the system's random source.
    package static func make(environment: Environment, locator: String) -> APIKeySecret? {
        make(environment: environment, locator: locator, random: Base62.random(randomLength))
    }

    /// The first 12 characters, which are stored and shown to find the key.
    package var prefix: String { String(decoding: text.utf8.prefix(12), as: UTF8.self) }
    /// The last 4 characters, which are stored and shown to tell keys apart.
    package var last4: String { String(decoding: text.utf8.suffix(4), as: UTF8.self) }
}

/// Random texts in base62 (the digits `0-9A-Za-z`), and a checksum in the same digits.
package enum Base62 {
    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }

    /// Returns `count` random digits in ASCII, each equally likely.
    static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in digits[Int.random(in: 0..<62, using: &generator)] }
    }

    /// Returns `count` random digits as a text. A secret needs at least 22 (about 131 bits);
    /// references and slugs need fewer.
    package static func randomText(_ count: Int) -> String {
        String(decoding: random(count), as: UTF8.self)
    }

    /// Returns the CRC-32 of `bytes` as six base62 digits, most significant digit first, padded
    /// with `0`.
    static func checksum(of bytes: some Collection<UInt8>) -> [UInt8] {
        var rest = crc32(bytes)
        var out = [UInt8](repeating: digits[0], count: 6)
        for at in stride(from: 5, through: 0, by: -1) {
            out[at] = digits[Int(rest % 62)]
            rest /= 62
        }
        return out
    }

    /// Returns the CRC-32 (IEEE 802.3) of `bytes`, the same as zlib's.
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
