import Domain
import Postgres

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
