/// The data that an authenticator signs (WebAuthn Level 3, section 6.1). Fixed fields come first. A
/// credential and extensions follow if the flags say so, and nothing may follow them.
struct AuthenticatorData {
    /// A new credential (section 6.5.1).
    struct Credential {
        /// The AAGUID, which identifies the authenticator's model; all zeros if the authenticator
        /// does not disclose it.
        var model: [UInt8]
        var id: [UInt8]
        /// The COSE key exactly as it was sent, which is also how it is stored.
        var encodedKey: [UInt8]
        var key: COSEKey
    }

    private enum Flag {
        static let userPresent: UInt8 = 0x01
        static let userVerified: UInt8 = 0x04
        static let backupEligible: UInt8 = 0x08
        static let backedUp: UInt8 = 0x10
        static let credential: UInt8 = 0x40
        static let extensions: UInt8 = 0x80
    }

    private static let fixedLength = 37
    private static let idLengthLimit = 1023

    private let relyingPartyHash: [UInt8]
    private let flags: UInt8
    let counter: UInt32
    let credential: Credential?

    var isBackupEligible: Bool { flags & Flag.backupEligible != 0 }
    var isBackedUp: Bool { flags & Flag.backedUp != 0 }

    init(_ bytes: [UInt8]) throws(WebAuthnFault) {
        guard bytes.count >= Self.fixedLength else { throw .authenticatorDataMalformed }
        relyingPartyHash = Array(bytes[..<32])
        flags = bytes[32]
        counter = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var offset = Self.fixedLength
        credential =
            flags & Flag.credential == 0 ? nil : try Self.credential(bytes, at: &offset)
        if flags & Flag.extensions != 0 {
            // No extension is requested, so their content is ignored; only their form is checked.
            guard try Self.value(bytes, at: &offset).entries != nil else {
                throw .authenticatorDataMalformed
            }
        }
        guard offset == bytes.count else { throw .authenticatorDataMalformed }
    }

    private static func credential(
        _ bytes: [UInt8], at offset: inout Int
    ) throws(WebAuthnFault) -> Credential {
        guard bytes.count - offset >= 18 else { throw .authenticatorDataMalformed }
        let model = Array(bytes[offset..<(offset + 16)])
        let length = Int(bytes[offset + 16]) << 8 | Int(bytes[offset + 17])
        offset += 18
        guard (1...idLengthLimit).contains(length) else { throw .credentialLength }
        guard bytes.count - offset >= length else { throw .authenticatorDataMalformed }
        let id = Array(bytes[offset..<(offset + length)])
        offset += length
        let start = offset
        let key = try COSEKey(value(bytes, at: &offset))
        return Credential(
            model: model, id: id, encodedKey: Array(bytes[start..<offset]), key: key)
    }

    private static func value(
        _ bytes: [UInt8], at offset: inout Int
    ) throws(WebAuthnFault) -> CBORValue {
        var decoder = CBORDecoder(bytes, at: offset)
        do {
            let value = try decoder.value()
            offset = decoder.offset
            return value
        } catch {
            throw .notCanonical(error)
        }
    }

    func check(_ ceremony: Ceremony) throws(WebAuthnFault) {
        guard relyingPartyHash == SHA256.hash(Array(ceremony.relyingParty.utf8)) else {
            throw .relyingPartyMismatch
        }
        guard flags & Flag.userPresent != 0 else { throw .userAbsent }
        guard flags & Flag.userVerified != 0 else { throw .userNotVerified }
        guard isBackupEligible || !isBackedUp else { throw .backupFlags }
    }
}

/// A credential's public key (RFC 9053, RFC 8230). Its algorithm is one of the three that are
/// requested. The COSE map has the members of this algorithm and no others (WebAuthn Level 3,
/// section 6.5.1.1).
package struct COSEKey: Sendable {
    /// The algorithms that are requested, by their numbers in IANA's registry of COSE algorithms. A
    /// credential keeps the number of its algorithm for ever.
    package enum Algorithm: Int, Sendable, CaseIterable {
        case es256 = -7
        case eddsa = -8
        case rs256 = -257
    }

    /// The maximum length of an encoded key, in bytes. Every acceptable key is much shorter.
    static let lengthLimit = 4096

    let algorithm: Algorithm
    private let key: VerificationKey

    private enum Label {
        static let kind = 1
        static let algorithm = 3
        /// The label of an elliptic key's curve, or of an RSA key's modulus.
        static let first = -1
        /// The label of an elliptic key's coordinate x, or of an RSA key's exponent.
        static let second = -2
        static let third = -3
    }

    /// Reads a key from its stored bytes.
    init(encoded: [UInt8]) throws(WebAuthnFault) {
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

    /// Whether a signature is valid. WebAuthn sends ES256 signatures in DER (section 6.5.5).
    func isValid(signature: [UInt8], over message: [UInt8]) -> Bool {
        key.isValid(derSignature: signature, over: message)
    }
}
