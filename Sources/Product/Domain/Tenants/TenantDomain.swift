import Text

/// An email domain that a tenant claims. Once verified it belongs only to that tenant.
package struct TenantDomain: Sendable, Equatable {
    /// A pending claim gives the tenant nothing.
    package enum Status: String, Sendable, CaseIterable { case pending, verified }
    /// How the claim was proved: a TXT record, or an operator's decision.
    package enum Method: String, Sendable, CaseIterable { case dns, `operator` }
    /// How users of the domain are admitted, instead of by the policy's `sign_up`; raw values are
    /// those of the wire format.
    package enum Mode: String, Sendable, CaseIterable {
        case join, ask
        case inviteOnly = "invite_only"
    }

    /// The most domains that a tenant may have claimed at a time: each is checked every week.
    package static let most = 1000

    /// The claim's id; several tenants may claim one domain.
    package var id: UUID
    package var tenantID: UUID
    /// A-label, lower case.
    package var domain: String
    package var display: String
    /// Only a verified domain covers addresses.
    package var status: Status
    /// The method of the proof; `dns` until proved.
    package var method: Method
    /// If false, only addresses at the domain itself are covered.
    package var includeSubdomains: Bool
    /// `nil` if the policy decides.
    package var mode: Mode?
    /// The role of users who are admitted by the domain; `nil` for the policy's default.
    package var role: UserRole?
    package var createdAt: Timestamp
    package var verifiedAt: Timestamp?

    /// The defaults describe a claim to be proved by DNS.
    package init(
        id: UUID, tenantID: UUID, domain: String, display: String, status: Status,
        method: Method = .dns, includeSubdomains: Bool = false, mode: Mode? = nil,
        role: UserRole? = nil, createdAt: Timestamp, verifiedAt: Timestamp? = nil
    ) {
        self.id = id
        self.tenantID = tenantID
        self.domain = domain
        self.display = display
        self.status = status
        self.method = method
        self.includeSubdomains = includeSubdomains
        self.mode = mode
        self.role = role
        self.createdAt = createdAt
        self.verifiedAt = verifiedAt
    }

    /// Whether an address at `name` (an A-label) is covered. Only whole labels count, so that a
    /// claim on `ex.com` never covers `notex.com`.
    package func covers(_ name: String) -> Bool {
        guard status == .verified else { return false }
        if sameBytes(domain, name) { return true }
        guard includeSubdomains else { return false }
        let suffix = [0x2E] + Array(domain.utf8)
        return name.utf8.count > suffix.count
            && name.utf8.suffix(suffix.count).elementsEqual(suffix)
    }
}
