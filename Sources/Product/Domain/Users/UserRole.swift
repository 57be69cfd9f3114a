/// A person's role in one tenant, ordered by reach.
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
