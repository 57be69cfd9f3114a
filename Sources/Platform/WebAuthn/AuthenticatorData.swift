import Cryptography

/// What an authenticator signs (WebAuthn Level 3, section 6.1): fixed fields, then a credential and
/// extensions where its flags say so, and nothing after them.
struct AuthenticatorData {
    /// A new credential (section 6.5.1).
    struct Credential {
        /// What model made it; all zero where it does not say.
        var model: [UInt8]
        var id: [UInt8]
        /// As it was sent, which is as it is stored.
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
            // None is asked for, so that what they say does not count; their form does.
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
