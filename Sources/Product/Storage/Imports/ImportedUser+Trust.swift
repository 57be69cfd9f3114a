import Domain
import Text

/// Anybody could have signed up elsewhere with an address that was never verified there, with a
/// password and sign-ins of their own.
extension ImportedUser {
    /// An id that the user does not get is kept as the external id where the row has none. The same words, be
    /// the id another's or no one's.
    mutating func takeForeignID() {
        if externalID == nil {
            externalID = id
            add("The user has an id of this tenant; the row's is kept as the external id.")
        } else {
            add("The user has an id of this tenant; the row's is not taken over.")
        }
    }

    /// As a new user. Who has no sign-in but an unverified address's password waits for a mailed
    /// reset: only who reads the mail sets one.
    var asNew: ImportedUser {
        guard !emailVerified else { return self }
        var user = self
        if passwordHash != nil {
            user.passwordHash = nil
            user.awaitsPassword = true
            user.add("The address is not verified, so the password is not taken over.")
        }
        // The reset would prove the address for sign-ins that may be another person's.
        if !identities.isEmpty { user.awaitsPassword = false }
        return user
    }

    /// What a known user may get: sign-ins of a verified address alone, and none beside those that
    /// another person may hold.
    func asUpdate(of known: UserRow, hasPassword: Bool) -> ImportedUser {
        guard known.emailKey == email.key else { return withoutSignIns(Self.otherAddress) }
        let added = identities.contains { identity in
            !known.identities.contains { $0.isSameSignIn(as: identity) }
        }
        if emailVerified {
            return holdsAll(of: known, hasPassword) ? self : withoutSignIns(Self.unproved)
        }
        let isNothing = !added && (passwordHash == nil || hasPassword)
        return isNothing ? self : withoutSignIns(Self.unverified)
    }

    private static let unverified =
        "The address is not verified, so password and sign-ins are not taken over."
    private static let otherAddress =
        "The user has another address by now, which an import does not change: password and sign-ins "
        + "are not taken over."
    private static let unproved =
        "The user's address and sign-ins were never proved, so the file's are not taken over."

    /// The user's address is proved, or no one but this row's person can sign in as the user.
    private func holdsAll(of known: UserRow, _ hasPassword: Bool) -> Bool {
        let others = known.identities.contains { identity in
            !identities.contains { identity.isSameSignIn(as: $0) }
        }
        return known.emailVerifiedAt != nil || !hasPassword && !others
    }

    private func withoutSignIns(_ why: String) -> ImportedUser {
        var user = self
        user.add(why)
        user.emailVerified = false
        user.passwordHash = nil
        user.identities = []
        return user
    }

    private mutating func add(_ text: String) {
        note = [text, note].compactMap { $0 }.joined(separator: " ")
    }
}

extension IdentityRow {
    func isSameSignIn(as other: ImportedIdentity) -> Bool {
        sameBytes(provider, other.provider) && sameBytes(issuer, other.issuer)
            && sameBytes(subject, other.subject)
    }
}
