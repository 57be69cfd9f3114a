import Cryptography
import Domain
import JSON
import Postgres
import Text

/// What an operator can prove to be present by.
package struct OperatorFactors: Sendable, Equatable {
    /// One that signs in: not where the provider is required.
    package var hasPassword = false
    /// Those that browsers offer at this server's name.
    package var passkeys = 0
    /// Those that were made for another name of the server or are disowned: they cannot be asked for,
    /// and yet no password alone signs in beside them.
    package var unusablePasskeys = 0
    /// The app is disowned, with the same effect.
    package var isAppDisowned = false
    /// An authenticator app; its seed was confirmed by a code.
    package var totp = false
    package var recoveryCodesLeft = 0
    /// The kind of the provider at which the operator's sign-in is bound; nil: at none.
    package var providerKind: String?
    /// The provider alone signs in, which finds the operator by the address.
    package var mustUseProvider = false

    /// Recovery codes alone are none: they stand in for one that is lost.
    package var hasSecondFactor: Bool {
        passkeys > 0 || unusablePasskeys > 0 || totp || isAppDisowned
    }

    /// Whether none of them can be used.
    package var areUnusable: Bool { hasSecondFactor && passkeys == 0 && !totp }

    /// Whether the operator can sign in, and prove to be present, without a link or a recovery code.
    var hasWayIn: Bool { passkeys > 0 || (hasPassword || providerKind != nil) && !areUnusable }

    /// Whether the operator can end every session and sign in again, without a link or a colleague.
    package var canReturn: Bool { hasWayIn || mustUseProvider && !areUnusable }

    /// What a step-up asks for: who has a second factor proves it by that, never by the password.
    /// Empty where the operator signed in by a link and chose no password, or has passkeys of another
    /// name of the server alone.
    package var stepUpMethods: [StepUpMethod] {
        var methods: [StepUpMethod] = []
        if passkeys > 0 { methods.append(.passkey) }
        if totp { methods.append(.totp) }
        if !hasSecondFactor, hasPassword { methods.append(.password) }
        // GitHub and Google do not say when it was that their user signed in.
        if !hasSecondFactor, providerKind == "oidc" { methods.append(.provider) }
        return methods
    }

    /// Whether a sign-in by this proves what a step-up would ask for.
    package func isStepUp(_ method: SignInMethod) -> Bool {
        !hasSecondFactor || method.isSecondFactor
    }

    /// Of the operator `o`. Counts, not EXISTS: PostgreSQL may read a whole table to answer EXISTS for
    /// many operators at once.
    static let columns: SQL =
        """
        o.password_hash IS NOT NULL AND NOT (\(OperatorSignIn.endsPassword)),
        (SELECT count(*) FROM operator_passkeys k
            WHERE k.operator_id = o.id AND k.usable AND NOT k.disowned),
        (SELECT count(*) FROM operator_passkeys k
            WHERE k.operator_id = o.id AND NOT (k.usable AND NOT k.disowned)),
        (SELECT count(*) FROM operator_totp t
            WHERE t.operator_id = o.id AND t.confirmed AND NOT t.disowned) > 0,
        (SELECT count(*) FROM operator_totp t
            WHERE t.operator_id = o.id AND t.confirmed AND t.disowned) > 0,
        (SELECT count(*) FROM operator_recovery_codes r
            WHERE r.operator_id = o.id AND r.used_at IS NULL),
        \(OperatorSignIn.boundKind), \(OperatorSignIn.endsPassword)
        """
    static let columnCount = 8

    init() {}

    init(_ row: Row) throws(PostgresError) {
        (
            hasPassword, passkeys, unusablePasskeys, totp, isAppDisowned, recoveryCodesLeft,
            providerKind, mustUseProvider
        ) = try row.columns()
    }

    /// Whether the operator `o` has one: a server with another name must not make it none.
    static let hasSecondFactor: SQL =
        """
        (EXISTS (SELECT 1 FROM operator_totp t WHERE t.operator_id = o.id AND t.confirmed)
            OR EXISTS (SELECT 1 FROM operator_passkeys k WHERE k.operator_id = o.id))
        """
}

/// What an operator signs in with from now on: the link in the mail about it disowns it.
package enum AddedFactor: Sendable, Equatable {
    case passkey(UUID)
    case totp, recoveryCodes, provider

    var name: String {
        switch self {
        case .passkey: "passkey"
        case .totp: "totp"
        case .recoveryCodes: "recovery_codes"
        case .provider: "provider"
        }
    }

    var id: UUID? { if case .passkey(let id) = self { id } else { nil } }

    /// As stored; nil if the mail is about none.
    init?(name: String?, id: UUID?) {
        switch name {
        case "passkey":
            guard let id else { return nil }
            self = .passkey(id)
        case "totp": self = .totp
        case "recovery_codes": self = .recoveryCodes
        case "provider": self = .provider
        default: return nil
        }
    }
}

extension Change {
    /// A passkey, an app and an account at the provider stay, and prove nothing: none comes back under
    /// the same name, and without another factor the operator needs `gatehouse operator reset`. What
    /// was added after `time` is another one.
    package func disown(_ factor: AddedFactor, of person: UUID, addedBefore time: Timestamp)
        async throws
    {
        switch factor {
        case .passkey(let id):
            try await query(
                """
                UPDATE operator_passkeys SET disowned = true, usable = false
                WHERE id = \(id) AND operator_id = \(person)
                """)
        case .totp:
            try await query(
                """
                UPDATE operator_totp SET disowned = true
                WHERE operator_id = \(person) AND confirmed AND created_at <= \(time)
                """)
        case .recoveryCodes:
            try await query(
                """
                DELETE FROM operator_recovery_codes
                WHERE operator_id = \(person) AND created_at <= \(time)
                """)
        case .provider:
            try await query(
                """
                UPDATE operator_identities SET disowned = true
                WHERE operator_id = \(person) AND created_at <= \(time)
                """)
        }
    }
}

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
