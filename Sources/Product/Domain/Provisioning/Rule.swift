/// A step of provisioning, in the order in which it is tried. A trace and the tables of
/// `deploy/docs/decisions.md` name the rules by their numbers.
package enum Rule: String, Sendable, CaseIterable {
    /// The limit of attempts, before any rule.
    case limit
    case provider
    case userName = "user_name"
    case askedTenant = "tenant"
    case knownIdentity = "1"
    case address = "2"
    case inviteToken = "3"
    case candidateTenant = "4"
    case addressTrust = "5"
    case liveInvite = "6"
    case pendingRow = "7"
    case activeUser = "8"
    /// The tenant's block list, for those whom only its rules would let in.
    case blockList = "block_list"
    case verifiedDomain = "9"
    case openTenant = "10"
    /// A pool's administrator creates a user whom no rule admits.
    case adminCreate = "admin_create"
    /// A pool confirms a sign-up that was decided before.
    case confirmation

    package var number: Int? { Int(rawValue) }
}
