/// The form of a key: `gate_(live|test)_` + 6 of tenant locator + 30 random + 6 of checksum.
package struct APIKeySecret: Sendable, Equatable {
    /// The part of the prefix after `gate_`.
    package enum Environment: String, Sendable, CaseIterable { case live, test }

    /// The locator of the platform's own keys.
    package static let platformLocator = "000000"
    /// Base62 digits: about 178 bits.
    package static let randomLength = 30
    package static let length = 52

    /// The whole secret: shown once, never stored or logged.
    package let text: String
    /// Read from the text's prefix.
    package let environment: Environment
    /// Six base62 digits that find the tenant.
    package let locator: String

    /// Parses a presented text; nil for a typo or a random string, without any query.
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

    /// Makes a new key. `random` must be 30 base62 digits, the locator 6; nil otherwise.
    package static func make(
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

    /// The first 12 characters; shown and stored.
    package var prefix: String { String(decoding: text.utf8.prefix(12), as: UTF8.self) }
    /// The last 4 characters; shown and stored.
    package var last4: String { String(decoding: text.utf8.suffix(4), as: UTF8.self) }
}
