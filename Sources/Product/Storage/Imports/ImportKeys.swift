import Text

extension ImportedUser {
    /// What no earlier row of the import may have. Rows with unverified addresses have the complements:
    /// they are no rivals of a row with a verified one.
    var keys: [Int64] { emailVerified ? ownKeys : ownKeys.map { ~$0 } }

    /// Of a row with an unverified address: what no row with a verified one may have.
    var verifiedKeys: [Int64] { emailVerified ? [] : ownKeys }

    private var ownKeys: [Int64] {
        var keys = [StagedPerson.key(email: email.key)]
        // Two rows of one deleted person stand in no one's way.
        if isDeleted { return [] }
        // An id that the user does not get becomes the external id; who gets theirs is not known yet.
        if let externalID = externalID ?? id { keys.append(Self.key(externalID: externalID)) }
        if let id { keys.append(StagedPerson.key(id: id)) }
        return keys + identities.map(\.key)
    }

    static func key(externalID: String) -> Int64 { StagedPerson.key(externalID: externalID) }
}

extension ImportedIdentity {
    /// By the bytes of its three parts.
    var key: Int64 {
        StagedPerson.key(provider: provider, issuer: issuer, subject: subject)
    }
}
