import Cryptography
import Domain
import JSON
import Postgres
import Text

/// Codes that sign an operator in without the second factor, each once. Only hashes are stored:
/// 80 random bits cannot be guessed from one.
package enum RecoveryCode {
    /// How many are made at once.
    package static let count = 10
    private static let bytes = 10

    /// Four groups of four, `ABCD-EFGH-IJKL-MNOP`.
    package static func make() -> String {
        let text = Array(Base32.encode(RandomBytes.make(bytes)))
        return stride(from: 0, to: text.count, by: 4).map { String(text[$0..<$0 + 4]) }
            .joined(separator: "-")
    }

    /// Of the letters and digits alone, in either case.
    package static func hash(_ code: String) -> [UInt8] {
        SHA256.hash(
            code.utf8.compactMap { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A: byte
                case 0x61...0x7A: byte & 0xDF
                default: nil
                }
            })
    }
}

extension Database {
    /// Uses a code up: false if it is unknown or was used before.
    package func useRecoveryCode(
        _ code: String, of person: OperatorRow, by actor: Actor
    ) async throws -> Bool {
        let hash = RecoveryCode.hash(code)
        return try await scope(person.tenant ?? .platform).change(by: actor) { change in
            let left = try await change.lockFactors(of: person.id).recoveryCodesLeft
            let rows = try await change.query(
                """
                UPDATE operator_recovery_codes SET used_at = \(change.now)
                WHERE operator_id = \(person.id) AND code_hash = \(hash) AND used_at IS NULL
                RETURNING 1
                """)
            if rows.isEmpty { return false }
            var changes = AuditChanges()
            try await change.renewVersion(of: person.id)
            changes.add("recovery_codes_left", .int(left), .int(max(0, left - 1)))
            try await change.audit(.operatorRecoveryCodeUsed, person.target, changes)
            return true
        }
    }
}

extension Change {
    /// New codes, shown once; earlier ones end. 409 without a second factor.
    package func makeRecoveryCodes(for person: OperatorRow) async throws -> [String] {
        // Of two requests at once the later one's codes are left.
        guard try await lockFactors(of: person.id).hasSecondFactor else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "They stand in for a second factor; set one up first.", id: nil)
        }
        try await endRecoveryCodes(of: person.id)
        let codes = (0..<RecoveryCode.count).map { _ in RecoveryCode.make() }
        let hashes = codes.map(RecoveryCode.hash)
        try await query(
            """
            INSERT INTO operator_recovery_codes (operator_id, code_hash, created_at)
            SELECT \(person.id), hash, \(now) FROM unnest(\(hashes)::bytea[]) AS hash
            """)
        try await renewProofs(of: person.id)
        try await audit(.operatorRecoveryCodesMade, person.target)
        return codes
    }

    package func endRecoveryCodes(of person: UUID) async throws(PostgresError) {
        try await query("DELETE FROM operator_recovery_codes WHERE operator_id = \(person)")
    }

    /// Takes every second factor away, also passkeys of an earlier name of the server, and the
    /// provider's: the last way back for who lost them all.
    func resetFactors(of person: OperatorRow) async throws {
        let removed = try await query(
            """
            WITH totp AS (DELETE FROM operator_totp WHERE operator_id = \(person.id) RETURNING 1),
                passkeys AS (
                    DELETE FROM operator_passkeys WHERE operator_id = \(person.id) RETURNING 1)
            SELECT 1 FROM totp UNION ALL SELECT 1 FROM passkeys
            """)
        try await endRecoveryCodes(of: person.id)
        try await reopenPasswords(of: person)
        guard !removed.isEmpty else { return }
        try await audit(.operatorFactorsReset, person.target)
    }
}
