import Cryptography
import Domain
import Postgres
import Text

/// An operator's passkey as stored.
package struct PasskeyRow: Sendable {
    package var id: UUID
    var person: UUID
    package var credentialID: [UInt8]
    /// The RP id for which the passkey was made. The passkey works with no other RP id.
    package var relyingParty: String
    package var key: [UInt8]
    package var counter: Int64
    package var name: String
    /// How a browser can reach the authenticator, as the browser reported it.
    package var transports: [String]
    package var isBackupEligible: Bool
    package var isBackedUp: Bool
    /// Whether browsers offer the passkey at this server's name (see `markUsablePasskeys`) and no
    /// "this was not me" link invalidated it.
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

/// A new passkey to store. Its registration has been verified.
package struct NewPasskey: Sendable {
    var credential: RegisteredCredential
    var relyingParty: String
    package var name: String
    var transports: [String]

    package init(
        credential: RegisteredCredential, relyingParty: String, name: String, transports: [String]
    ) {
        self.credential = credential
        self.relyingParty = relyingParty
        self.name = name
        self.transports = transports
    }
}

/// Why a passkey cannot be added or removed.
package enum PasskeyRefusal: Error, Sendable {
    case tooMany
    /// The passkey cannot be added, because it is stored already, for this or another operator.
    case known
    /// The passkey cannot be removed, because it is the operator's only way to sign in.
    case onlyWay
}

extension Database {
    /// The operator's passkeys, the oldest first.
    package func passkeys(of person: UUID) async throws(PostgresError) -> [PasskeyRow] {
        try await app.read(
            """
            SELECT \(PasskeyRow.columns) FROM operator_passkeys p
            WHERE p.operator_id = \(person) ORDER BY p.created_at, p.id
            """
        ).map { row throws(PostgresError) in try PasskeyRow(row) }
    }

    /// The passkey with this credential, its operator, and the user handle that its authenticator
    /// shows.
    package func passkey(
        credential: [UInt8]
    ) async throws(PostgresError) -> (passkey: PasskeyRow, person: OperatorRow, handle: [UInt8])? {
        let rows = try await app.read(
            """
            SELECT \(OperatorRow.columns), \(PasskeyRow.columns), o.passkey_handle
            FROM operator_passkeys p JOIN operators o ON o.id = p.operator_id
            WHERE p.credential_id = \(credential)
            """)
        guard let row = rows.first else { return nil }
        let last = OperatorRow.columnCount + PasskeyRow.columnCount
        return (
            try PasskeyRow(row, at: OperatorRow.columnCount), try OperatorRow(row),
            try row.get(last, as: [UInt8]?.self) ?? []
        )
    }

    /// The user handle by which authenticators know the operator. It is made at the first call and
    /// then kept.
    package func passkeyHandle(of person: UUID) async throws -> [UInt8] {
        let made = RandomBytes.make(32)
        return try await app.query(
            """
            UPDATE operators SET passkey_handle = coalesce(passkey_handle, \(made))
            WHERE id = \(person) RETURNING passkey_handle
            """
        ).only { try $0.get(0) }
    }

    /// Records the use of a passkey: stores the counter and the backup state of a valid assertion.
    /// If both the new and the stored counter are 0, the authenticator does not count, and the use
    /// is accepted. Otherwise returns false if the new counter is not higher than the stored one,
    /// as happens if the authenticator was copied and both copies are used.
    package func usePasskey(
        _ id: UUID, counter: UInt32, isBackedUp: Bool
    ) async throws(PostgresError) -> Bool {
        let (counter, now) = (Int64(counter), clock())
        return try await app.query(
            """
            UPDATE operator_passkeys SET counter = \(counter), backed_up = \(isBackedUp),
                last_used_at = \(now)
            WHERE id = \(id) AND (counter < \(counter) OR counter = 0 AND \(counter) = 0::bigint)
            RETURNING 1
            """
        ).count == 1
    }

    /// Audits that a passkey was refused because its counter did not increase. This happens if the
    /// authenticator was copied.
    package func passkeyRefused(
        _ passkey: PasskeyRow, of person: OperatorRow, because reason: String, by actor: Actor
    ) async throws {
        try await scope(person.tenant ?? .platform).change(by: actor) { change in
            var changes = AuditChanges()
            changes.add("passkey", nil, passkey.name)
            changes.add("reason", nil, reason)
            try await change.audit(
                .operatorPasskeyRefused, person.target, changes)
        }
    }
}

extension Change {
    /// Adds a passkey, if the operator's limit permits. Locks the operator's row, so that
    /// concurrent requests together cannot exceed the limit.
    package func addPasskey(_ new: NewPasskey, to person: OperatorRow) async throws -> PasskeyRow {
        let before = try await lockFactors(of: person.id)
        guard before.passkeys + before.unusablePasskeys < Passkey.most else {
            throw PasskeyRefusal.tooMany
        }
        let credential = new.credential
        let rows = try await query(
            """
            INSERT INTO operator_passkeys AS p (id, operator_id, credential_id, relying_party,
                public_key, algorithm, counter, name, transports, backup_eligible, backed_up,
                created_at)
            VALUES (\(UUID.random()), \(person.id), \(credential.id), \(new.relyingParty),
                \(credential.key), \(credential.algorithm.rawValue), \(Int64(credential.counter)),
                \(new.name), \(new.transports)::text[], \(credential.isBackupEligible),
                \(credential.isBackedUp), \(now))
            ON CONFLICT (credential_id) DO NOTHING RETURNING \(PasskeyRow.columns)
            """)
        guard let row = rows.first else { throw PasskeyRefusal.known }
        let passkey = try PasskeyRow(row)
        try await endSignInLinks(of: person.id)
        try await renewProofs(of: person.id)
        var changes = AuditChanges()
        changes.add("passkey", nil, passkey.name)
        try await audit(
            .operatorPasskeyAdded, person.target, changes)
        return passkey
    }

    /// Renames a passkey; if `name` is nil, nothing changes. Returns nil if the operator has no
    /// such passkey.
    package func renamePasskey(
        _ id: UUID, to name: String?, of person: OperatorRow
    ) async throws -> PasskeyRow? {
        guard let before = try await passkey(id, of: person.id) else { return nil }
        guard let name, !sameBytes(before.name, name) else { return before }
        let row = try await query(
            """
            UPDATE operator_passkeys AS p SET name = \(name)
            WHERE p.id = \(id) RETURNING \(PasskeyRow.columns)
            """
        ).only { try PasskeyRow($0) }
        var changes = AuditChanges()
        changes.add("passkey", before.name, name)
        try await audit(
            .operatorPasskeyRenamed, person.target, changes)
        return row
    }

    /// Removes a passkey. Returns nil if the operator has no such passkey. Deletes the recovery
    /// codes if no second factor is left.
    package func removePasskey(_ id: UUID, of person: OperatorRow) async throws -> PasskeyRow? {
        let before = try await lockFactors(of: person.id)
        guard let passkey = try await passkey(id, of: person.id) else { return nil }
        try await query("DELETE FROM operator_passkeys WHERE id = \(id)")
        let hasWayIn = try await factors(of: person.id).hasWayIn
        guard hasWayIn || !before.hasWayIn else { throw PasskeyRefusal.onlyWay }
        try await factorRemoved(from: person.id)
        var changes = AuditChanges()
        changes.add("passkey", passkey.name, nil)
        try await audit(
            .operatorPasskeyRemoved, person.target, changes)
        return passkey
    }

    private func passkey(_ id: UUID, of person: UUID) async throws -> PasskeyRow? {
        try await query(
            """
            SELECT \(PasskeyRow.columns) FROM operator_passkeys p
            WHERE p.id = \(id) AND p.operator_id = \(person) FOR UPDATE
            """
        ).first.map { try PasskeyRow($0) }
    }
}

/// Challenges for passkeys, each valid for one response.
extension Database {
    /// Makes a challenge that is valid only for this purpose and binding. If the binding has too
    /// many challenges, the new one replaces the oldest.
    package func makeChallenge(
        for purpose: Passkey.Purpose, boundTo binding: [UInt8]
    ) async throws(PostgresError) -> [UInt8] {
        let (challenge, now) = (RandomBytes.make(32), clock())
        _ = try await app.query(
            """
            WITH ended AS (
                DELETE FROM webauthn_challenges WHERE challenge IN (
                    SELECT challenge FROM webauthn_challenges WHERE binding = \(binding)
                    ORDER BY created_at DESC, challenge OFFSET \(Passkey.mostChallenges - 1)))
            INSERT INTO webauthn_challenges (challenge, purpose, binding, created_at, expires_at)
            VALUES (\(challenge), \(purpose.rawValue), \(binding), \(now),
                \(now.adding(seconds: Passkey.challengeSeconds)))
            """)
        return challenge
    }

    /// Uses up a challenge. Returns false if it was not made for this purpose and binding, or is
    /// used or expired. Of two concurrent responses only one succeeds.
    package func useChallenge(
        _ challenge: [UInt8], for purpose: Passkey.Purpose, boundTo binding: [UInt8]
    ) async throws(PostgresError) -> Bool {
        try await app.query(
            """
            DELETE FROM webauthn_challenges
            WHERE challenge = \(challenge) AND purpose = \(purpose.rawValue)
                AND binding = \(binding) AND expires_at > \(clock())
            RETURNING 1
            """
        ).count == 1
    }

    /// Makes a challenge for a browser without a session. The challenge contains the time when it
    /// was made and a MAC from this server's key, and it is stored only when it is used. Anyone may
    /// request challenges: if each were stored, they could fill a table, and a limit on their
    /// number would lock everyone out.
    package func makeOpenChallenge(boundTo binding: [UInt8]) -> [UInt8] {
        let body = Self.bytes(clock().microseconds) + RandomBytes.make(16)
        return body + openChallengeCode(body, binding)
    }

    /// Uses up a challenge from `makeOpenChallenge`. Returns false if this server did not make it
    /// for this binding, or if it is used or expired.
    package func useOpenChallenge(
        _ challenge: [UInt8], boundTo binding: [UInt8]
    ) async throws(PostgresError) -> Bool {
        guard challenge.count == 56 else { return false }
        let body = Array(challenge[..<24])
        guard constantTimeEqual(openChallengeCode(body, binding), Array(challenge[24...])) else {
            return false
        }
        let made = Timestamp(microseconds: body[..<8].reduce(0) { $0 << 8 | Int64($1) })
        let end = made.adding(seconds: Passkey.challengeSeconds)
        guard clock() < end else { return false }
        return try await app.query(
            """
            INSERT INTO answered_challenges (challenge_hash, expires_at)
            VALUES (\(SHA256.hash(challenge)), \(end)) ON CONFLICT DO NOTHING RETURNING 1
            """
        ).count == 1
    }

    private func openChallengeCode(_ body: [UInt8], _ binding: [UInt8]) -> [UInt8] {
        SHA256.authenticate(
            Array("passkey challenge".utf8) + binding + body, key: directoryKey)
    }

    private static func bytes(_ number: Int64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
