import Postgres
import Text
import WebAuthn

/// An operator's passkey as stored.
package struct PasskeyRow: Sendable {
    package var id: UUID
    package var person: UUID
    package var credentialID: [UInt8]
    /// The RP id that it was made for; no other site can use it.
    package var relyingParty: String
    package var key: [UInt8]
    package var counter: Int64
    package var name: String
    /// How a browser may reach it, as the browser said.
    package var transports: [String]
    package var isBackupEligible: Bool
    package var isBackedUp: Bool
    /// Whether browsers offer it at this server's name; see `markUsablePasskeys`.
    package var isUsable: Bool
    package var createdAt: Timestamp
    package var lastUsedAt: Timestamp?

    static let columns: SQL =
        """
        p.id, p.operator_id, p.credential_id, p.relying_party, p.public_key, p.counter, p.name,
        p.transports, p.backup_eligible, p.backed_up,
        p.usable AND NOT p.disowned, p.created_at, p.last_used_at
        """
    static let columnCount = 13

    init(_ row: Row, at first: Int = 0) throws(PostgresError) {
        (
            id, person, credentialID, relyingParty, key, counter, name, transports,
            isBackupEligible, isBackedUp, isUsable, createdAt, lastUsedAt
        ) = try row.columns(from: first)
    }
}

/// A passkey that its registration proved, to be stored.
package struct NewPasskey: Sendable {
    package var credential: RegisteredCredential
    package var relyingParty: String
    package var name: String
    package var transports: [String]

    package init(
        credential: RegisteredCredential, relyingParty: String, name: String, transports: [String]
    ) {
        self.credential = credential
        self.relyingParty = relyingParty
        self.name = name
        self.transports = transports
    }
}
