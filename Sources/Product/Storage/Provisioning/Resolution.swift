import Domain
import JSON
import Postgres
import Text

/// An operator's resolution for an account with an unproved address, after a sign-in that proved
/// that address.
package enum Resolution: Sendable {
    /// The account is the newcomer's: the new identity is linked, and every other way in ends.
    case giveAccount
    /// The account is another person's and gets this address, unproved; the newcomer is decided
    /// anew at the next attempt.
    case openAnother(EmailAddress)
}

/// A resolved decision, and the account as it is now.
package struct ResolvedDecision: Sendable {
    /// The refusal that was resolved, unchanged.
    package var decision: DecisionRow
    package var user: UserRow
    /// Addresses to notify: the account's, and those of the removed identities.
    package var recipients: [String]
}

extension DecisionRow {
    /// The account at the address was never proved to be its owner's.
    package var isForResolving: Bool {
        guard outcome == "refused", reason == Reason.identityLinkRequired.rawValue else {
            return false
        }
        return (trace.array ?? []).contains {
            $0["result"]?.string == TraceEntry.addressUnproved
        }
    }
}
