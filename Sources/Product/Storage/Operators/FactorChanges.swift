import Domain
import Postgres
import Text

extension Change {
    /// Locks the operator's row and reads it then: of two changes at once the later one finds what
    /// the earlier one left.
    func lockFactors(of person: UUID) async throws -> OperatorFactors {
        let locked = try await query("SELECT 1 FROM operators WHERE id = \(person) FOR UPDATE")
        guard !locked.isEmpty else { throw StorageFailure.notFound("operator") }
        return try await factors(of: person)
    }

    func factors(of person: UUID) async throws -> OperatorFactors {
        try await query(
            "SELECT \(OperatorFactors.columns) FROM operators o WHERE o.id = \(person)"
        ).only { row throws(PostgresError) in try OperatorFactors(row) }
    }

    /// Ends the recovery codes if no second factor is left, and the proofs of before.
    func factorRemoved(from person: UUID) async throws {
        if try await !factors(of: person).hasSecondFactor {
            try await endRecoveryCodes(of: person)
        }
        try await renewProofs(of: person)
    }

    /// What the operator signs in with has changed: who proved the earlier one begins no session.
    func renewProofs(of person: UUID) async throws(PostgresError) {
        try await query(
            """
            UPDATE operators SET proof_version = proof_version + 1, version = version + 1,
                updated_at = \(now)
            WHERE id = \(person)
            """)
    }

    /// The operator's row shows something else, such as how many recovery codes are left.
    func renewVersion(of person: UUID) async throws(PostgresError) {
        try await query(
            "UPDATE operators SET version = version + 1, updated_at = \(now) WHERE id = \(person)")
    }

    /// Throws 409 if what the operator signs in with changed since the row was read, which was
    /// before its proof. Locks the row against such a change.
    package func requireProof(of person: OperatorRow) async throws {
        let same = try await query(
            """
            SELECT 1 FROM operators
            WHERE id = \(person.id) AND proof_version = \(person.proofVersion) FOR SHARE
            """)
        guard !same.isEmpty else { throw StorageFailure.staleProof }
    }
}

extension StorageFailure {
    static let tooManyFactors = StorageFailure.conflict(
        code: "conflict", detail: "What you sign in with changed too often; wait an hour.", id: nil)
    static let staleProof = StorageFailure.conflict(
        code: "conflict", detail: "What you sign in with changed just now; sign in again.", id: nil)
}
