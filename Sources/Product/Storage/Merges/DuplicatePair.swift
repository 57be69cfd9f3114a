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
        /// The other's address without dots and without what follows a plus sign: maybe.
        case spelling
    }

    package var kind: Kind
    /// The address or the subject.
    package var value: String
}
