import Synchronization

/// The server's secret key and, during a rotation, the previous one. Both open sealed texts; one of
/// them seals.
package final class SecretKeys: Sendable {
    /// A key and its name, which is stored beside everything that the key made.
    package struct Key: Sendable {
        /// 4 bytes, derived from the key, so that equal keys have equal names on every replica.
        package let id: [UInt8]
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            id = SHA256.derive(from: bytes, info: Array("key id".utf8), count: SecretKeys.idLength)
        }
    }

    package static let idLength = 4

    package let current: Key
    package let previous: Key?
    private let previousSeals = Atomic<Bool>(false)

    /// Each key has at least 32 bytes. nil if both have the same name: they are equal, or (once in
    /// 2^32) another key must be chosen.
    package init?(_ current: [UInt8], previous: [UInt8]?) {
        self.current = Key(current)
        self.previous = previous.map(Key.init)
        guard self.previous?.id != self.current.id else { return nil }
    }

    package init(_ current: [UInt8]) {
        self.current = Key(current)
        previous = nil
    }

    /// The key that new texts are sealed with.
    package var sealing: Key { all[0] }

    /// Every key that can open; the one that seals is first.
    package var all: [Key] {
        guard let previous else { return [current] }
        return previousSeals.load(ordering: .acquiring)
            ? [previous, current] : [current, previous]
    }

    /// Seals with the named key from now on. False if there is no such key.
    package func seal(with id: [UInt8]) -> Bool {
        guard all.contains(where: { $0.id == id }) else { return false }
        previousSeals.store(id != current.id, ordering: .releasing)
        return true
    }

    /// 32 bytes for one purpose, from each key.
    package func derive(_ purpose: String) -> DerivedKeys {
        DerivedKeys(
            secrets: self,
            bytes: Self.each(of: self) {
                SHA256.derive(from: $0, info: Array(purpose.utf8))
            })
    }

    private static func each(
        of keys: SecretKeys, _ derive: ([UInt8]) -> [UInt8]
    ) -> [[UInt8]: [UInt8]] {
        var bytes: [[UInt8]: [UInt8]] = [:]
        for key in keys.all { bytes[key.id] = derive(key.bytes) }
        return bytes
    }
}

/// The keys of one purpose, by the names of the secret keys from which they are derived.
package struct DerivedKeys: Sendable {
    let secrets: SecretKeys
    let bytes: [[UInt8]: [UInt8]]

    /// Keys of a narrower purpose, or of one text.
    package func derive(salt: [UInt8], _ purpose: String) -> DerivedKeys {
        DerivedKeys(
            secrets: secrets,
            bytes: bytes.mapValues {
                SHA256.derive(from: $0, salt: salt, info: Array(purpose.utf8))
            })
    }

    package var sealing: [UInt8] { bytes[secrets.sealing.id] ?? [] }

    package subscript(id: [UInt8]) -> [UInt8]? { bytes[id] }

    /// HMAC-SHA256 under the key that seals, 32 bytes.
    package func authenticate(_ message: [UInt8]) -> [UInt8] {
        SHA256.authenticate(message, key: sealing)
    }

    /// For each key, the one that seals first, its name (4 bytes) followed by the HMAC (32 bytes).
    package func named(_ message: [UInt8]) -> [UInt8] {
        secrets.all.flatMap { $0.id + SHA256.authenticate(message, key: bytes[$0.id] ?? []) }
    }

    /// Whether a key made this code of the message; `length`: the code's length in bytes.
    package func made(_ code: [UInt8], of message: [UInt8], length: Int = 32) -> Bool {
        bytes.values.contains {
            constantTimeEqual(code, Array(SHA256.authenticate(message, key: $0).prefix(length)))
        }
    }
}
