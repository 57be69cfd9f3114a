import Testing
import Text

@testable import Cryptography

func bytes(_ hex: String) -> [UInt8] { Hex.decode(hex) ?? [] }

@Suite struct DigestTests {
    @Test(
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func `SHA-256 gives the published digests`(text: String, digest: String) {
        #expect(Hex.encode(SHA256.hash(Array(text.utf8))) == digest)
    }

    @Test(
        arguments: [
            (
                "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                "4a656665", "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                String(repeating: "aa", count: 131),
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ])
    func `HMAC gives the codes of RFC 4231`(key: String, message: String, code: String) {
        let result = SHA256.authenticate(Array(message.utf8), key: bytes(key))
        #expect(Hex.encode(result) == code)
    }

    @Test func `HKDF gives the keys of RFC 5869`() {
        let secret = [UInt8](repeating: 0x0B, count: 22)
        let first = SHA256.derive(
            from: secret, salt: Array(0...12), info: Array(0xF0...0xF9), count: 42)
        #expect(
            Hex.encode(first)
                == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
                + "34007208d5b887185865")
        let bare = SHA256.derive(from: secret, info: [], count: 42)
        #expect(
            Hex.encode(bare)
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
                + "9d201395faa4b61a96c8")
    }

    @Test func `digests agree when many tasks share the threads`() async {
        let expected = SHA256.hash([1, 2, 3])
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<200 { group.addTask { SHA256.hash([1, 2, 3]) == expected } }
            for await same in group { #expect(same) }
        }
    }
}
