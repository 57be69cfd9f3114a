/// The compact serialization of RFC 7515: three base64url parts with dots between them. The caller
/// interprets header and payload; nothing here trusts them.
package struct JWS: Sendable {
    /// Longer tokens are refused before they are decoded.
    package static let lengthLimit = 16 * 1024

    /// JSON text, not yet read.
    package let header: [UInt8]
    package let payload: [UInt8]
    private let signature: [UInt8]
    private let signed: [UInt8]

    /// nil if it is no compact form; success does not verify the signature.
    package init?(compact text: [UInt8]) {
        guard text.count <= Self.lengthLimit else { return nil }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(Array(parts[0])),
            let payload = Base64URL.decode(Array(parts[1])),
            let signature = Base64URL.decode(Array(parts[2]))
        else { return nil }
        self.header = header
        self.payload = payload
        self.signature = signature
        signed = Array(text[..<(parts[2].startIndex - 1)])
    }

    package func isSigned(by key: VerificationKey) -> Bool {
        key.isValid(signature: signature, over: signed)
    }

    /// An ES256 token. `header` must name `alg` ES256 and the key's `kid`.
    package static func sign(
        header: [UInt8], payload: [UInt8], with key: SigningKey
    ) throws(CryptographyError) -> String {
        let signed = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))
    }
}
