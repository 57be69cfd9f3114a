import Cryptography
import Domain
import JSON
import Postgres
import Text

/// The factors with which an operator can prove that they are present.
package struct OperatorFactors: Sendable, Equatable {
    /// Whether the operator can sign in with a password. False if the operator has no password, or
    /// has one but must sign in at the provider.
    package var hasPassword = false
    /// The number of passkeys that browsers offer at this server's name.
    package var passkeys = 0
    /// The number of passkeys that cannot be used: they were made for another name of the server,
    /// or invalidated by a "this was not me" link. While there is such a passkey, the password
    /// alone is not enough to sign in.
    package var unusablePasskeys = 0
    /// Whether a "this was not me" link invalidated the authenticator app. If so, the password
    /// alone is not enough to sign in.
    var isAppDisowned = false
    /// Whether there is an authenticator app whose seed was confirmed with a code.
    package var totp = false
    package var recoveryCodesLeft = 0
    /// The kind of the provider to which the operator's sign-in is bound; `nil` if there is none.
    package var providerKind: String?
    /// Whether the operator's password cannot be used because the domain of the operator's address
    /// requires a sign-in at the provider.
    package var mustUseProvider = false

    /// Whether the operator has a second factor, usable or not. Recovery codes do not count, since
    /// they only replace a lost factor.
    package var hasSecondFactor: Bool {
        passkeys > 0 || unusablePasskeys > 0 || totp || isAppDisowned
    }

    /// Whether the operator has second factors but can use none of them.
    package var areUnusable: Bool { hasSecondFactor && passkeys == 0 && !totp }

    /// Whether the operator can sign in and prove presence without a mailed link or a recovery
    /// code.
    var hasWayIn: Bool { passkeys > 0 || (hasPassword || providerKind != nil) && !areUnusable }

    /// Whether the operator can end every session and sign in again without a link or a colleague.
    package var canReturn: Bool { hasWayIn || mustUseProvider && !areUnusable }

    /// The methods with which the operator can prove presence again during a session. An operator
    /// with a second factor must use that, never the password. The list may be empty: for example,
    /// the operator signed in by a link and has no password, or none of the operator's second
    /// factors can be used.
    package var stepUpMethods: [StepUpMethod] {
        var methods: [StepUpMethod] = []
        if passkeys > 0 { methods.append(.passkey) }
        if totp { methods.append(.totp) }
        if !hasSecondFactor, hasPassword { methods.append(.password) }
        // Of the providers, only those of the kind `oidc` can be used for a step-up, since GitHub
        // and Google do not report when their user signed in.
        if !hasSecondFactor, providerKind == "oidc" { methods.append(.provider) }
        return methods
    }

    /// Whether a sign-in with this method proves as much as a step-up, so that no step-up is
    /// needed.
    package func isStepUp(_ method: SignInMethod) -> Bool {
        !hasSecondFactor || method.isSecondFactor
    }

    /// The columns of the factors, for the row `o` of `operators`. They use counts instead of
    /// EXISTS, because PostgreSQL may read a whole table to answer EXISTS for many operators at
    /// once.
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

    /// A condition that is true if the operator `o` has a second factor. A passkey counts even if
    /// it was made for an earlier name of the server.
    static let hasSecondFactor: SQL =
        """
        (EXISTS (SELECT 1 FROM operator_totp t WHERE t.operator_id = o.id AND t.confirmed)
            OR EXISTS (SELECT 1 FROM operator_passkeys k WHERE k.operator_id = o.id))
        """
}

/// A factor that was just added. The mail about the addition has a link that can invalidate the
/// factor.
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

    /// Decodes the stored columns; `nil` if the mail is about no factor.
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
    /// Invalidates a factor. If the stored factor was added after `time`, it is a different factor
    /// and is not changed. An invalidated passkey, authenticator app or account at the provider
    /// stays stored, so that it cannot be added again, but it proves nothing. An operator without
    /// another factor then needs `gatehouse operator reset`.
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
    /// The operator's factors, read after the operator's row was locked. Thus the later of two
    /// concurrent changes sees what the earlier one did.
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

    /// Must be called after a factor was removed. Deletes the recovery codes if no second factor is
    /// left, and invalidates earlier proofs.
    func factorRemoved(from person: UUID) async throws {
        if try await !factors(of: person).hasSecondFactor {
            try await endRecoveryCodes(of: person)
        }
        try await renewProofs(of: person)
    }

    /// Must be called when the operator's factors have changed. A proof that was made before the
    /// change can no longer start a session.
    func renewProofs(of person: UUID) async throws(PostgresError) {
        try await query(
            """
            UPDATE operators SET proof_version = proof_version + 1, version = version + 1,
                updated_at = \(now)
            WHERE id = \(person)
            """)
    }

    /// Raises the operator's version. Must be called when the operator's row shows something new,
    /// such as how many recovery codes are left.
    func renewVersion(of person: UUID) async throws(PostgresError) {
        try await query(
            "UPDATE operators SET version = version + 1, updated_at = \(now) WHERE id = \(person)")
    }

    /// Throws 409 if the operator's factors have changed since `person` was read. The caller must
    /// have read `person` before the operator proved presence. Locks the row, so that the factors
    /// cannot change until the transaction ends.
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
        code: "conflict", detail: "Your sign-in methods changed too often; wait an hour.", id: nil)
    static let staleProof = StorageFailure.conflict(
        code: "conflict", detail: "Your sign-in methods have just changed; sign in again.", id: nil)
}

/// Authenticator apps of operators. The seed is stored only in encrypted form.
extension Database {
    /// Seconds within which a new seed must be confirmed with a code.
    package static let totpSetupSeconds: Int64 = 900

    /// Uses up a code of the operator's authenticator app. Returns false if the code is wrong or
    /// was used before. Of two concurrent requests with the same code, only one succeeds.
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
    /// Stores a new seed, which replaces an earlier unconfirmed seed. The new seed counts as a
    /// factor only after it was confirmed.
    package func offerTotp(_ seed: [UInt8], to person: OperatorRow)
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

    /// Confirms the new seed of the operator's authenticator app with a code, and uses up this
    /// code. The new seed replaces an earlier confirmed seed. Sign-in links become invalid, since
    /// they sign in without the app. Returns false if the code is wrong, or if there is no new seed
    /// to confirm.
    package func confirmTotp(
        _ code: String, of person: OperatorRow
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

    /// Removes the authenticator app. Throws 404 if there is none, and 409 if only passkeys that
    /// cannot be used would be left. Deletes the recovery codes if no second factor is left.
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
                detail:
                    "Only passkeys that cannot be used would be left; add a passkey first.",
                id: nil)
        }
        try await factorRemoved(from: person.id)
        try await audit(.operatorTotpRemoved, person.target)
    }

    /// Invalidates the operator's sign-in links, since they sign in without a second factor.
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

/// Recovery codes. Each can replace the second factor of an operator's sign-in once. Only hashes of
/// the codes are stored; the 80 random bits of a code cannot be guessed from its hash.
package enum RecoveryCode {
    /// How many codes are made together.
    package static let count = 10
    private static let bytes = 10

    /// A new code: four groups of four characters, such as `ABCD-EFGH-IJKL-MNOP`.
    static func make() -> String {
        let text = Array(Base32.encode(RandomBytes.make(bytes)))
        return stride(from: 0, to: text.count, by: 4).map { String(text[$0..<$0 + 4]) }
            .joined(separator: "-")
    }

    /// The hash of a code. Only its letters and digits count, in either case.
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
    /// Uses up one of the operator's recovery codes. Returns false if the code is unknown or was
    /// used before.
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
    /// Makes new recovery codes, which are shown once and replace the earlier ones. Throws 409 if
    /// the operator has no second factor.
    package func makeRecoveryCodes(for person: OperatorRow) async throws -> [String] {
        // The lock makes two concurrent requests run one after the other, so that only the codes of
        // the later request remain.
        guard try await lockFactors(of: person.id).hasSecondFactor else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "Recovery codes replace a second factor; set one up first.", id: nil)
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

    func endRecoveryCodes(of person: UUID) async throws(PostgresError) {
        try await query("DELETE FROM operator_recovery_codes WHERE operator_id = \(person)")
    }

    /// Removes every second factor, including passkeys for an earlier name of the server, and no
    /// longer requires the provider. It is the last resort for an operator who has lost every way
    /// to sign in.
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
