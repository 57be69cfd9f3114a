import JSON
import Text

/// The content of a mail before it is rendered. It may contain a one-time link, so it is stored
/// encrypted and never shown.
package struct OutgoingMail: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case invite
        case operatorLink = "operator_link"
        case passwordReset = "password_reset"
        /// To a user's new address, which the link confirms.
        case emailChange = "email_change"
        /// To the old address of a user whose address was changed; `message` is the new address.
        case emailChanged = "email_changed"
        /// To a user whose account got another identity; `message` says at which provider.
        case signInAdded = "sign_in_added"
        /// To the inviter: the invited person, whose address is `message`, declined.
        case inviteDeclined = "invite_declined"
        /// To the old and the new address of an account: an operator gave the account to the person
        /// who proved its address.
        case accountGiven = "account_given"
        /// To both addresses of a person whose records were merged; `message` is the address that
        /// stays.
        case merged
        /// To the addresses of two users whose merge was undone.
        case mergeUndone = "merge_undone"
        /// To a person who asked to join: they may sign in now.
        case joinApproved = "join_approved"
        /// To a person who asked to join and was declined; `message` is the operator's text.
        case joinDeclined = "join_declined"
        /// To a person who has not used the account for long; `message` is the day on which the
        /// account will be suspended, or nil if it will not be.
        case inactivityWarning = "inactivity_warning"
        /// To an operator: the password or a factor of the account changed; `message` says which.
        case operatorChanged = "operator_changed"
        /// To an operator: a sign-in in a new browser; `message` says where.
        case operatorSignIn = "operator_sign_in"
        /// To an operator: the password was right and the second factor wrong; `message` says
        /// where.
        case operatorFactorRefused = "operator_factor_refused"
        /// To an operator: the DNS record that proves a domain is missing; `message` says which.
        case domainLost = "domain_lost"
        /// Several notices in one mail, in `parts`; `message` is the number of further notices that
        /// are not shown; `nil` if there are none.
        case notices

        /// The group of kinds that share one limit with this kind.
        var pot: MailPot {
            switch self {
            case .invite, .operatorLink, .emailChange, .inviteDeclined, .joinApproved,
                .joinDeclined, .inactivityWarning:
                .asks
            case .passwordReset: .ownAsks
            case .emailChanged, .signInAdded, .accountGiven, .merged, .mergeUndone,
                .operatorChanged, .operatorSignIn, .operatorFactorRefused, .domainLost, .notices:
                .notices
            }
        }

        /// Whether mails of this kind are sent before a tenant's invites, because a person waits
        /// for the mail at a page or because the mail may reveal a thief.
        var isUrgent: Bool {
            switch self {
            case .passwordReset, .operatorLink, .emailChange, .operatorChanged, .operatorSignIn,
                .operatorFactorRefused, .notices:
                true
            case .invite, .domainLost, .emailChanged, .signInAdded, .inviteDeclined, .accountGiven,
                .merged, .mergeUndone, .joinApproved, .joinDeclined,
                .inactivityWarning:
                false
            }
        }
    }

    package var kind: Kind
    package var to: String
    /// The tenant's name; nil for the platform.
    package var tenantName: String?
    package var link: String
    /// The inviter's name.
    package var inviter: String?
    package var role: String?
    package var message: String?
    package var expiresAt: Timestamp
    /// The notices that a mail of the kind `notices` combines; empty for any other kind.
    package var parts: [OutgoingMail] = []

    package init(
        _ kind: Kind, to: String, tenantName: String? = nil, link: String = "",
        inviter: String? = nil, role: String? = nil, message: String? = nil,
        expiresAt: Timestamp
    ) {
        self.kind = kind
        self.to = to
        self.tenantName = tenantName
        self.link = link
        self.inviter = inviter
        self.role = role
        self.message = message
        self.expiresAt = expiresAt
    }

    /// The content as bytes, to be encrypted.
    var bytes: [UInt8] {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        var members: [JSONValue.Member] = [
            .init("to", .string(to)), .init("tenant", text(tenantName)),
            .init("link", .string(link)), .init("inviter", text(inviter)),
            .init("role", text(role)), .init("message", text(message)),
            .init("expires_at", .string(expiresAt.description)),
        ]
        if !parts.isEmpty {
            members.append(
                .init(
                    "parts",
                    .array(
                        parts.map {
                            .array([
                                .string($0.kind.rawValue),
                                .string(String(decoding: $0.bytes, as: UTF8.self)),
                            ])
                        })))
        }
        return JSONValue.object(members).encoded()
    }

    init?(_ kind: Kind, _ bytes: [UInt8]) {
        guard let value = try? JSONValue(parsing: bytes), let to = value["to"]?.string,
            let link = value["link"]?.string,
            let end = value["expires_at"]?.string.flatMap({ Timestamp($0) })
        else { return nil }
        self.init(
            kind, to: to, tenantName: value["tenant"]?.string, link: link,
            inviter: value["inviter"]?.string, role: value["role"]?.string,
            message: value["message"]?.string, expiresAt: end)
        parts = (value["parts"]?.array ?? []).compactMap { part in
            guard let pair = part.array, pair.count == 2,
                let kind = pair[0].string.flatMap(Kind.init), let text = pair[1].string
            else { return nil }
            return OutgoingMail(kind, Array(text.utf8))
        }
    }
}
