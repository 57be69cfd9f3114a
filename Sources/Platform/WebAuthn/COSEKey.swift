import Cryptography

/// A credential's public key (RFC 9053, RFC 8230), of one of the three kinds that are asked for. It
/// has its algorithm's members and no other (WebAuthn Level 3, section 6.5.1.1).
package struct COSEKey: Sendable {
    /// Numbers of the IANA registry of COSE algorithms; a credential keeps its own for ever.
    package enum Algorithm: Int, Sendable, CaseIterable {
        case es256 = -7
        case eddsa = -8
        case rs256 = -257
    }

    /// Bytes of a key as it is sent and stored; the longest good one has half as many.
    package static let lengthLimit = 4096

    package let algorithm: Algorithm
    private let key: VerificationKey

    private enum Label {
        static let kind = 1
        static let algorithm = 3
        /// The curve, or an RSA key's modulus.
        static let first = -1
        /// The coordinate x, or an RSA key's exponent.
        static let second = -2
        static let third = -3
    }

    /// The key of bytes as they are stored.
    package init(encoded: [UInt8]) throws(WebAuthnFault) {
        let value: CBORValue
        do { value = try CBORDecoder.whole(encoded) } catch { throw .notCanonical(error) }
        try self.init(value)
    }

    init(_ value: CBORValue) throws(WebAuthnFault) {
        guard let entries = value.entries else { throw .keyMalformed }
        var members: [Int: CBORValue] = [:]
        for entry in entries {
            guard let label = entry.key.number else { throw .keyMalformed }
            members[label] = entry.value
        }
        guard let number = members[Label.algorithm]?.number else { throw .keyMalformed }
        guard let algorithm = Algorithm(rawValue: number) else { throw .algorithmRefused }
        self.algorithm = algorithm
        do {
            switch algorithm {
            case .es256: key = try Self.elliptic(members)
            case .eddsa: key = try Self.edwards(members)
            case .rs256: key = try Self.rsa(members)
            }
        } catch let fault as WebAuthnFault {
            throw fault
        } catch {
            throw .keyRefused
        }
    }

    private static func elliptic(_ members: [Int: CBORValue]) throws -> VerificationKey {
        try require(members, kind: 2, count: 5)
        guard members[Label.first]?.number == 1, let x = members[Label.second]?.bytes,
            let y = members[Label.third]?.bytes
        else { throw WebAuthnFault.keyMalformed }
        return try VerificationKey(x: x, y: y)
    }

    private static func edwards(_ members: [Int: CBORValue]) throws -> VerificationKey {
        try require(members, kind: 1, count: 4)
        guard members[Label.first]?.number == 6, let x = members[Label.second]?.bytes else {
            throw WebAuthnFault.keyMalformed
        }
        return try VerificationKey(ed25519: x)
    }

    private static func rsa(_ members: [Int: CBORValue]) throws -> VerificationKey {
        try require(members, kind: 3, count: 4)
        guard let n = members[Label.first]?.bytes, let e = members[Label.second]?.bytes else {
            throw WebAuthnFault.keyMalformed
        }
        return try VerificationKey(n: n, e: e)
    }

    private static func require(
        _ members: [Int: CBORValue], kind: Int, count: Int
    ) throws(WebAuthnFault) {
        guard members[Label.kind]?.number == kind, members.count == count else {
            throw .keyMalformed
        }
    }

    /// WebAuthn sends ES256 signatures in DER (section 6.5.5).
    func isValid(signature: [UInt8], over message: [UInt8]) -> Bool {
        key.isValid(derSignature: signature, over: message)
    }
}
