import Text

/// The states of a user. A user is one person's account in one tenant, so a person in two tenants
/// has two users.
package enum User {
    package enum Status: String, Sendable, CaseIterable {
        case pending, active, suspended, deleted
    }

    /// What created the user. For a pending user it decides which rule may activate them.
    package enum Source: String, Sendable, CaseIterable {
        case invite, `operator`, `import`, approval
        case signUp = "sign_up"
        case joinLink = "join_link"
    }
}

/// A person's role in one tenant, ordered from the fewest rights to the most.
package enum UserRole: String, Sendable, CaseIterable, Comparable {
    case member, manager, admin

    package static func < (left: UserRole, right: UserRole) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .member: 0
        case .manager: 1
        case .admin: 2
        }
    }
}

/// A parsed email address: addresses are compared by `key`, and `display` is shown.
package struct Email: Sendable, Hashable {
    /// The address in plain ASCII: the local part in lower case, `@`, and the domain as A-label.
    package var key: String
    package var display: String
    package var domain: String

    package init(key: String, display: String, domain: String) {
        self.key = key
        self.display = display
        self.domain = domain
    }

    package static func == (left: Email, right: Email) -> Bool { sameBytes(left.key, right.key) }
    package func hash(into hasher: inout Hasher) { for byte in key.utf8 { hasher.combine(byte) } }
}
