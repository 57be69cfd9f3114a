import Text

/// Two users who may be one person.
package struct DuplicatePair: Sendable {
    package var first: ListedUser
    package var second: ListedUser
    /// At least one.
    package var evidence: [DuplicateEvidence]
}

/// Why two users may be one person.
package struct DuplicateEvidence: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// A trusted provider reported for one address at both, or for the address of the other.
        case verifiedAddress = "verified_address"
        /// The same subject of the same kind of provider, under another issuer.
        case subject
        /// Both addresses are one without dots and without what follows a plus sign: maybe.
        case spelling
        /// An import's row with the address of one has the external id of the other.
        case externalID = "external_id"
    }

    package var kind: Kind
    /// The address, the subject or the external id.
    package var value: String
}
