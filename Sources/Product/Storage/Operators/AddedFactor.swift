import Domain
import JSON
import Postgres
import Text

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
