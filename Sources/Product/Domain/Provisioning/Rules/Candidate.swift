/// What a tenant knows about the person of the attempt. If several cases apply, the first one
/// counts.
enum Knowledge: Equatable {
    case suspendedUser(UserFacts)
    case liveInvite
    case pendingRow(UserFacts)
    case activeUser(UserFacts)
    case awaitsApproval(UserFacts)
    case deletedUser(UserFacts)
    case joinLink
    case domain
    case open

    var name: String {
        switch self {
        case .suspendedUser: "suspended user"
        case .liveInvite: "live invite"
        case .pendingRow: "pending row"
        case .activeUser: "active user"
        case .awaitsApproval: "awaits approval"
        case .deletedUser(let user): user.isDeclined ? "declined" : "deleted user"
        case .joinLink: "join link"
        case .domain: "verified domain"
        case .open: "open"
        }
    }

    /// The precedence in rule 4: a lower number comes first.
    var rank: Int {
        switch self {
        case .suspendedUser: 0
        case .liveInvite: 1
        case .pendingRow: 2
        case .activeUser: 3
        case .awaitsApproval: 4
        case .deletedUser: 5
        case .joinLink: 6
        case .domain: 7
        case .open: 8
        }
    }

    var user: UserFacts? {
        switch self {
        case .suspendedUser(let user), .pendingRow(let user), .activeUser(let user),
            .awaitsApproval(let user), .deletedUser(let user):
            user
        case .liveInvite, .joinLink, .domain, .open: nil
        }
    }
}

/// A tenant that rule 4 considers.
struct Candidate {
    var tenant: TenantFacts
    var knowledge: Knowledge
    var standing: Standing

    /// What the tenant does with the person if the address is proved.
    enum Standing {
        /// The tenant admits the person, or lets them wait for approval.
        case admits
        /// The tenant has an account for the person's address, but with another sign-in. The person
        /// may link this sign-in to that account.
        case linkable
        /// The tenant refuses, whatever the person does.
        case refuses
    }

    var about: [TraceReference] {
        let id = tenant.id
        var about: [TraceReference] = [.tenant(id)]
        if let user = knowledge.user { about.append(.user(user.id, of: id)) }
        switch knowledge {
        case .liveInvite: if let invite = tenant.invite { about.append(.invite(invite.invite)) }
        case .domain: if let domain = tenant.domain { about.append(.domain(domain)) }
        default: break
        }
        return about
    }
}
