import Cryptography
import Domain
import Postgres
import Text

/// Authenticator apps of operators. Only the sealed seed is stored.
extension Database {
    /// Seconds in which a new seed has to be confirmed by a code.
    package static let totpSetupSeconds: Int64 = 900

    /// Uses a code up: false if it is wrong, or was used before. One statement decides which of two
    /// requests with the same code has it.
    package func useTotp(_ code: String, of person: UUID) async throws -> Bool {
        let rows = try await app.read(
            """
            SELECT seed, last_step FROM operator_totp
            WHERE operator_id = \(person) AND confirmed AND NOT disowned
            """)
        guard let row = rows.first else { return false }
        let (sealed, last): ([UInt8], Int64) = try row.columns()
        let totp = try totp(sealed, of: person)
        let seconds = clock().microseconds / 1_000_000
        guard let step = totp.step(of: code, at: seconds, after: last) else { return false }
        let used = try await app.query(
            """
            UPDATE operator_totp SET last_step = \(step)
            WHERE operator_id = \(person) AND confirmed AND NOT disowned AND seed = \(sealed)
                AND last_step < \(step)
            RETURNING 1
            """)
        return !used.isEmpty
    }

    func totp(_ sealed: [UInt8], of person: UUID) throws -> TOTP {
        TOTP(seed: try open(sealed, .totpSeed, of: .platform, row: person))
    }
}

extension Change {
    /// A new seed in the place of an earlier one that was not confirmed; it proves nothing yet.
    package func offerTotp(_ seed: [UInt8], to person: OperatorRow, in database: Database)
        async throws
    {
        let sealed = try database.seal(seed, .totpSeed, of: .platform, row: person.id)
        try await query(
            """
            INSERT INTO operator_totp (operator_id, confirmed, seed, created_at)
            VALUES (\(person.id), false, \(sealed), \(now))
            ON CONFLICT (operator_id, confirmed) DO UPDATE
                SET seed = excluded.seed, created_at = excluded.created_at
            """)
    }

    /// The seed counts from now on, instead of an earlier one; false if the code is not one of it.
    /// The code is used up. Links that sign in without the app end.
    package func confirmTotp(
        _ code: String, of person: OperatorRow, in database: Database
    ) async throws -> Bool {
        _ = try await lockFactors(of: person.id)
        let since = now.adding(seconds: -Database.totpSetupSeconds)
        let rows = try await query(
            """
            SELECT seed FROM operator_totp WHERE operator_id = \(person.id) AND NOT confirmed
                AND created_at > \(since) FOR UPDATE
            """)
        guard let sealed: [UInt8] = try rows.first?.get(0),
            let step = try database.totp(sealed, of: person.id).step(
                of: code, at: now.microseconds / 1_000_000, after: 0)
        else { return false }
        try await query("DELETE FROM operator_totp WHERE operator_id = \(person.id) AND confirmed")
        try await query(
            """
            UPDATE operator_totp SET confirmed = true, last_step = \(step)
            WHERE operator_id = \(person.id)
            """)
        try await endSignInLinks(of: person.id)
        try await renewProofs(of: person.id)
        try await audit(.operatorTotpAdded, person.target)
        return true
    }

    /// 404 if there is none, 409 if only passkeys that cannot be used are left. Recovery codes end
    /// with the last second factor.
    package func removeTotp(of person: OperatorRow) async throws {
        _ = try await lockFactors(of: person.id)
        let removed = try await query(
            "DELETE FROM operator_totp WHERE operator_id = \(person.id) RETURNING confirmed")
        guard try removed.contains(where: { try $0.get(0) }) else {
            throw StorageFailure.notFound("authenticator app")
        }
        guard try await !factors(of: person.id).areUnusable else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "No second factor that is left can be used.",
                id: nil)
        }
        try await factorRemoved(from: person.id)
        try await audit(.operatorTotpRemoved, person.target)
    }

    /// One-time links sign in without a second factor.
    package func endSignInLinks(of person: UUID) async throws(PostgresError) {
        try await query(
            """
            DELETE FROM operator_links
            WHERE operator_id = \(person) AND purpose = 'sign_in' AND used_at IS NULL
            """)
    }
}

extension OperatorRow {
    package var target: AuditTarget { AuditTarget("operator", id, email) }
}
