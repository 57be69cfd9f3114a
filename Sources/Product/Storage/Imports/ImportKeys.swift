import Text

extension ImportedUser {
    /// What no earlier row of the import may have. Rows with unverified addresses have the complements:
    /// they are no rivals of a row with a verified one.
    var keys: [Int64] { emailVerified ? ownKeys : ownKeys.map { ~$0 } }

    /// Of a row with an unverified address: what no row with a verified one may have.
    var verifiedKeys: [Int64] { emailVerified ? [] : ownKeys }

    private var ownKeys: [Int64] {
        var keys = [StagedPerson.key(email: email.key)]
        if let externalID { keys.append(Self.key(externalID: externalID)) }
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
