import Cryptography
import JSON
import Text

/// What the browser says of a ceremony (WebAuthn Level 3, section 5.8.1), as it sent it: nothing is
/// checked yet.
package struct ClientData: Sendable {
    /// Longer texts are refused unread.
    private static let lengthLimit = 4096

    package let challenge: [UInt8]
    private let type: String
    private let origin: String
    private let isCrossOrigin: Bool
    /// The bytes that the authenticator's signature covers.
    let hash: [UInt8]

    /// Strict JSON: with duplicate members two readers could see two origins.
    package init(_ bytes: [UInt8]) throws(WebAuthnFault) {
        guard bytes.count <= Self.lengthLimit,
            let document = try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 8)),
            let type = document["type"]?.string, let origin = document["origin"]?.string,
            let challenge = document["challenge"]?.string.flatMap({ Base64URL.decode($0) })
        else { throw .clientDataMalformed }
        // Old browsers leave the member out, and know no ceremony of a foreign frame.
        var isCrossOrigin = document["topOrigin"] != nil
        if let member = document["crossOrigin"] {
            guard let value = member.bool else { throw .clientDataMalformed }
            isCrossOrigin = isCrossOrigin || value
        }
        self.challenge = challenge
        self.type = type
        self.origin = origin
        self.isCrossOrigin = isCrossOrigin
        hash = SHA256.hash(bytes)
    }

    func check(type: String, _ ceremony: Ceremony) throws(WebAuthnFault) {
        guard sameBytes(self.type, type) else { throw .typeMismatch }
        guard challenge == ceremony.challenge else { throw .challengeMismatch }
        guard sameBytes(origin, ceremony.origin) else { throw .originMismatch }
        guard !isCrossOrigin else { throw .crossOrigin }
    }
}
