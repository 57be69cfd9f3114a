import Cryptography
import Domain
import Postgres
import Text
import WebAuthn

/// Why a passkey is not stored or removed.
package enum PasskeyRefusal: Error, Sendable {
    case tooMany
    /// The same credential is stored already.
    case known
    /// It is the operator's only way in.
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

    /// The passkey with this credential, its operator, and the handle that its authenticator shows.
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

    /// What authenticators know the operator by: made at the first need, and kept.
    package func passkeyHandle(of person: UUID) async throws -> [UInt8] {
        let made = RandomBytes.make(32)
        return try await app.query(
            """
            UPDATE operators SET passkey_handle = coalesce(passkey_handle, \(made))
            WHERE id = \(person) RETURNING passkey_handle
            """
        ).only { try $0.get(0) }
    }

    /// Stores what a valid assertion showed. False if the counter has grown beyond it since: of two
    /// copies of one authenticator, one comes too late.
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

    /// Audits that a passkey's counter did not grow, which a copied authenticator causes.
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
    /// Adds one, within the limit; the operator's row is locked, so that two at once both count.
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

    /// nil if the operator has no such passkey. Without a new name nothing changes.
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

    /// nil if the operator has no such passkey. With the last second factor the recovery codes end.
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
