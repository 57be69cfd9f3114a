import Cryptography
import Testing
import Text

@Suite struct Ed25519Tests {
    /// RFC 8032, section 7.1, test 3.
    private static let key = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
    private static let message = "af82"
    private static let signature =
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"

    private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex.decode(hex)) }

    @Test func `the example of the RFC verifies, and nothing beside it`() throws {
        let key = try VerificationKey(ed25519: bytes(Self.key))
        let signature = try bytes(Self.signature)
        #expect(key.isValid(signature: signature, over: try bytes(Self.message)))
        #expect(key.isValid(derSignature: signature, over: try bytes(Self.message)))
        #expect(!key.isValid(signature: signature, over: []))
        #expect(!key.isValid(signature: signature + [0], over: try bytes(Self.message)))
        #expect(!key.isValid(signature: [], over: try bytes(Self.message)))
    }

    @Test(arguments: [0, 31, 33, 64]) func `a key of another length is refused`(count: Int) {
        #expect(throws: CryptographyError.badKey) {
            try VerificationKey(ed25519: [UInt8](repeating: 1, count: count))
        }
    }
}
