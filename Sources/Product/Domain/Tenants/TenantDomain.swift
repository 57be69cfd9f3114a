import Text

/// An email domain that a tenant claims. Once it is verified, no other tenant can have it.
package struct TenantDomain: Sendable, Equatable {
    /// Whether the claim is proved. While it is pending, it has no effect.
    package enum Status: String, Sendable, CaseIterable { case pending, verified }
    /// How the claim was proved: a TXT record, or an operator's decision.
    package enum Method: String, Sendable, CaseIterable { case dns, `operator` }
    /// How people of the domain are admitted; a mode replaces the policy's `sign_up`. Raw values
    /// are those of the wire format.
    package enum Mode: String, Sendable, CaseIterable {
        case join, ask
        case inviteOnly = "invite_only"
    }

    /// The maximum number of domains that a tenant may claim at a time. It is limited because each
    /// domain is checked every week.
    package static let most = 1000

    /// The id of the claim, not of the domain: several tenants may claim one domain.
    package var id: UUID
    var tenantID: UUID
    /// The domain as an A-label in lower case.
    var domain: String
    var display: String
    /// Whether the claim is proved; only a verified domain covers addresses.
    package var status: Status
    /// The method of the proof; `dns` while the claim is not proved.
    var method: Method
    /// Whether addresses at subdomains are covered too.
    var includeSubdomains: Bool
    /// How people of the domain are admitted; `nil` if the policy's `sign_up` decides.
    package var mode: Mode?
    /// The role of people who are admitted by the domain; `nil` for the policy's default.
    package var role: UserRole?
    package var createdAt: Timestamp
    var verifiedAt: Timestamp?

    /// Creates the claim; the defaults describe a claim that is to be proved by DNS.
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
