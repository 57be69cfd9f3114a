import Testing
import Text

@testable import Cryptography

@Suite struct SealerTests {
    private static let key = "feffe9928665731c6d6a8f9467308308"
    private static let plain =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    private static let sealed =
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
        + "76fc6ece0f4e1768cddf8853bb2d551b"

    @Test func `AES-256-GCM gives the published texts`() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        let nonce = [UInt8](repeating: 0, count: 12)
        let empty = try Sealer.seal([], key: zero, nonce: nonce, associated: [])
        #expect(Hex.encode(empty) == "530f8afbc74536b9a963b4f1c4cb738b")
        #expect(try Sealer.open(empty, key: zero, nonce: nonce, associated: []) == [])
        let key = bytes(Self.key + Self.key)
        let iv = bytes("cafebabefacedbaddecaf888")
        let data = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let text = try Sealer.seal(bytes(Self.plain), key: key, nonce: iv, associated: data)
        #expect(Hex.encode(text) == Self.sealed)
        #expect(try Sealer.open(text, key: key, nonce: iv, associated: data) == bytes(Self.plain))
    }

    @Test func `a sealed text opens in its own context alone`() throws {
        let sealer = Self.sealer(SecretKeys(RandomBytes.make(32)))
        let sealed = try sealer.seal([1, 2, 3], context: [7])
        #expect(try sealer.open(sealed, context: [7]) == [1, 2, 3])
        #expect(throws: CryptographyError.notAuthentic) {
            try sealer.open(sealed, context: [8])
        }
        #expect(try sealer.seal([1, 2, 3], context: [7]) != sealed)
    }

    @Test func `any altered byte or cut is refused`() throws {
        let sealer = Self.sealer(SecretKeys(RandomBytes.make(32)))
        let sealed = try sealer.seal([1, 2, 3], context: [])
        for index in sealed.indices {
            var altered = sealed
            altered[index] ^= 1
            #expect(throws: CryptographyError.notAuthentic) {
                try sealer.open(altered, context: [])
            }
            #expect(throws: CryptographyError.notAuthentic) {
                try sealer.open(Array(sealed[..<index]), context: [])
            }
        }
    }

    @Test func `a retired key opens what it sealed and seals no more`() throws {
        let old = RandomBytes.make(32)
        let keys = try #require(SecretKeys(RandomBytes.make(32), previous: old))
        let previous = try #require(keys.previous)
        let sealed = try Self.sealer(SecretKeys(old)).seal([9], context: [])
        let sealer = Self.sealer(keys)
        #expect(try sealer.open(sealed, context: []) == [9])
        #expect(try sealer.seal([9], context: []).starts(with: keys.current.id))
        #expect(keys.seal(with: previous.id))
        #expect(try sealer.seal([9], context: []).starts(with: previous.id))
        #expect(!keys.seal(with: [0, 0, 0, 0]))
        #expect(throws: CryptographyError.notAuthentic) {
            try Self.sealer(SecretKeys(RandomBytes.make(32))).open(sealed, context: [])
        }
    }

    @Test func `two keys are not the same`() {
        #expect(SecretKeys([1, 2, 3], previous: [1, 2, 3]) == nil)
    }

    private static func sealer(_ keys: SecretKeys) -> Sealer { Sealer(keys.derive("test")) }
}
