import Text

/// A single change that would make the rules admit an attempt that they refused.
package struct NearestYes: Sendable, Equatable {
    /// The kind of change; raw values are the wire format's `change`.
    package enum Change: String, Sendable, CaseIterable {
        case invite, approve, relink
        case verifyDomain = "verify_domain"
        case includeSubdomains = "include_subdomains"
        case policySignUp = "policy_sign_up"
        case domainMode = "domain_mode"
        case resumeUser = "resume_user"
        case restoreUser = "restore_user"
        case resumeTenant = "resume_tenant"
        case trustProvider = "trust_provider"
        case resendInvite = "resend_invite"
        case raiseLimit = "raise_limit"
    }

    /// The kind of change; a kind is suggested at most once per tenant.
    package var change: Change
    /// One sentence for an operator, without names or addresses.
    package var detail: String
    /// The tenant in which to make the change; `nil` for the platform, or if any tenant would do.
    package var tenantID: UUID?
}

extension Provisioning {
    /// The maximum number of times that the rules run to find changes for one attempt.
    static let nearestYesRuns = 12

    /// Returns changes that would admit the attempt, the smallest first. Each change is enough by
    /// itself. `facts` are limited to what the reader of the answer may know.
    package static func wouldAdmit(
        _ attempt: Attempt, facts: Facts, refused: Reason, now: Timestamp
    ) -> [NearestYes] {
        var found: [NearestYes] = []
        var kinds: Set<String> = []
        var runs = 0
        var (attempt, facts) = (attempt, facts)
        dropDeadLink(&attempt, &facts, now)
        for edit in edits(of: attempt, facts, refused, now) {
            // At most one change of each kind is reported per tenant.
            let kind = "\(edit.answer.change.rawValue) \(edit.answer.tenantID?.description ?? "")"
            guard runs < nearestYesRuns, !kinds.contains(kind) else { continue }
            runs += 1
            var edited = facts
            edit.apply(&edited)
            let verdict = decide(attempt: attempt, facts: edited, now: now)
            guard verdict.maySignIn || verdict.outcome == .reserved else { continue }
            kinds.insert(kind)
            found.append(edit.answer)
        }
        return found
    }

    /// Removes a join link that is no longer valid, since no change makes it valid again. The rules
    /// then run as if the person had requested the link's tenant without a link.
    private static func dropDeadLink(
        _ attempt: inout Attempt, _ facts: inout Facts, _ now: Timestamp
    ) {
        guard attempt.hasJoinToken || facts.reservation?.joinLinkID != nil else { return }
        if let found = facts.joinLink {
            guard found.link.status(at: now) != .active || !found.makerMayInvite else { return }
            facts.asked.append(AskedTenant(.attempt, found.link.tenantID))
        }
        attempt.hasJoinToken = false
        facts.reservation?.joinLinkID = nil
        facts.joinLink = nil
    }

    /// A change to try: the answer to report if the change admits the person, and how the change
    /// alters the facts.
    private struct Edit {
        var answer: NearestYes
        var apply: (inout Facts) -> Void
    }

    private static func edits(
        of attempt: Attempt, _ facts: Facts, _ refused: Reason, _ now: Timestamp
    ) -> [Edit] {
        var edits: [Edit] = []
        // The rules themselves know no rate limit, so running them on unchanged facts shows whether
        // a higher limit alone would admit the person.
        if refused == .rateLimited {
            edits.append(
                edit(.raiseLimit, nil, "Too many attempts were refused within a minute.") { _ in })
        }
        guard let email = attempt.email else { return edits }
        let tenants = facts.tenants.values.sorted { $0.id < $1.id }
        edits += tenants.flatMap { editsOfPeople($0, attempt, email, now) }
        edits += tenants.flatMap { editsOfRules($0, now) }
        edits += editsOfTrust(facts, email)
        if facts.tenants.isEmpty, facts.asked.isEmpty {
            let made = TenantFacts(id: UUID(high: 0, low: 1))
            edits.append(
                edit(.invite, nil, "Invite this address to a tenant.") { facts in
                    facts.tenants[made.id] = made
                    invite(made, email, now, &facts)
                })
        }
        return edits
    }

    private static func edit(
        _ change: NearestYes.Change, _ tenant: UUID?, _ detail: String,
        _ apply: @escaping (inout Facts) -> Void
    ) -> Edit {
        Edit(answer: NearestYes(change: change, detail: detail, tenantID: tenant), apply: apply)
    }

    private static func editsOfPeople(
        _ tenant: TenantFacts, _ attempt: Attempt, _ email: Email, _ now: Timestamp
    ) -> [Edit] {
        var edits: [Edit] = []
        let id = tenant.id
        if tenant.status == .suspended {
            edits.append(
                edit(.resumeTenant, id, "Resume the tenant.") { $0.tenants[id]?.status = .active })
        }
        if let row = tenant.user, row.status == .suspended {
            let status: User.Status = row.hasProvedCredential ? .active : .pending
            edits.append(edit(.resumeUser, id, "Resume the user.") { set(row.id, status, id, &$0) })
        }
        if let row = tenant.user, row.awaitsApproval {
            edits.append(edit(.approve, id, "Approve the user.") { set(row.id, .active, id, &$0) })
        }
        if tenant.user == nil, let row = tenant.deleted, !row.isDeclined {
            edits.append(
                edit(.restoreUser, id, "Restore the user.") { facts in
                    facts.tenants[id]?.user = row
                    facts.tenants[id]?.deleted = nil
                    set(row.id, .active, id, &facts)
                })
        }
        edits += relinking(tenant, attempt)
        if let lapsed = tenant.lapsedInvite, lapsed.invite.revokedAt == nil {
            edits.append(
                edit(.resendInvite, id, "Send the expired invite again.") {
                    invite(tenant, email, now, &$0)
                })
        }
        // An invite is not suggested for an address that the tenant blocks.
        if tenant.policy.block(ofKey: email.key, domain: email.domain) == nil {
            edits.append(
                edit(.invite, id, "Invite this address.") { invite(tenant, email, now, &$0) })
        }
        return edits
    }

    /// Returns the changes that link the sign-in to the existing account.
    private static func relinking(_ tenant: TenantFacts, _ attempt: Attempt) -> [Edit] {
        let id = tenant.id
        let row = tenant.user.flatMap { $0.status == .active || $0.status == .pending ? $0 : nil }
        guard let row else { return [] }
        return [
            edit(.relink, id, "Link this sign-in to the user.") { facts in
                facts.tenants[id]?.barredSince = nil
                facts.known.removeAll { $0.tenantID == id }
                facts.known.append(
                    KnownIdentity(
                        identityID: UUID(high: 0, low: 2), tenantID: id, user: row,
                        isLinkedManually: true))
            }
        ]
    }

    private static func set(
        _ user: UUID, _ status: User.Status, _ tenant: UUID, _ facts: inout Facts
    ) {
        facts.tenants[tenant]?.user?.status = status
        for index in facts.known.indices where facts.known[index].user.id == user {
            facts.known[index].user.status = status
        }
    }

    /// Adds a valid invite to the facts, as if it were sent now. If the attempt's token is for an
    /// invite of this tenant, it counts as the token of the added invite.
    private static func invite(
        _ tenant: TenantFacts, _ email: Email, _ now: Timestamp, _ facts: inout Facts
    ) {
        let sent = InviteFacts(
            invite: Invite(
                id: tenant.lapsedInvite?.invite.id ?? UUID(high: 0, low: 3), tenantID: tenant.id,
                email: email, role: tenant.policy.givenRole,
                expiresAt: now.adding(seconds: Invite.defaultLifetime)),
            row: tenant.user, sentAt: now)
        facts.tenants[tenant.id]?.invite = sent
        if facts.invite?.invite.tenantID == tenant.id { facts.invite = sent }
    }

    private static func editsOfRules(_ tenant: TenantFacts, _ now: Timestamp) -> [Edit] {
        var edits: [Edit] = []
        let id = tenant.id
        if let domain = tenant.unprovedDomain {
            edits.append(
                edit(.verifyDomain, id, "Prove the domain of this address.") { facts in
                    var proved = domain
                    proved.status = .verified
                    proved.verifiedAt = now
                    facts.tenants[id]?.domain = proved
                })
        }
        if let domain = tenant.parentDomain {
            edits.append(
                edit(.includeSubdomains, id, "Let the domain include its subdomains.") { facts in
                    var wider = domain
                    wider.includeSubdomains = true
                    facts.tenants[id]?.domain = wider
                })
        }
        if let domain = tenant.domain, domain.mode != .join {
            edits.append(
                edit(.domainMode, id, "Set the domain's mode to join.") {
                    $0.tenants[id]?.domain?.mode = .join
                })
        }
        // Try the strictest policy first.
        for signUp in [TenantPolicy.SignUp.inviteOnly, .domain, .open]
        where signUp != tenant.policy.signUp {
            edits.append(
                edit(.policySignUp, id, "Set the policy's sign_up to \(signUp.rawValue).") {
                    $0.tenants[id]?.policy.signUp = signUp
                })
        }
        return edits
    }

    private static func editsOfTrust(_ facts: Facts, _ email: Email) -> [Edit] {
        guard let provider = facts.provider else { return [] }
        let owner = provider.tenantID
        return [
            edit(
                .trustProvider, owner, "Set the provider's email_trust to verified_claim."
            ) { $0.provider?.emailTrust = .verifiedClaim },
            edit(
                .trustProvider, owner,
                "Set the provider's email_trust to authoritative for the domain of this address."
            ) { facts in
                facts.provider?.emailTrust = .authoritative
                facts.provider?.domains.append(email.domain)
            },
        ]
    }
}

extension Provisioning {
    /// Returns the facts that were found but did not admit the person, as steps of the trace,
    /// ordered by tenant.
    package static func unhelpful(facts: Facts, email: Email?, now: Timestamp) -> [TraceEntry] {
        facts.tenants.values.sorted { $0.id < $1.id }.flatMap { tenant in
            steps(of: tenant, facts, email, now)
        }
    }

    private static func steps(
        of tenant: TenantFacts, _ facts: Facts, _ email: Email?, _ now: Timestamp
    ) -> [TraceEntry] {
        var steps: [TraceEntry] = []
        func add(_ result: String, _ id: UUID, _ about: TraceReference) {
            steps.append(
                TraceEntry(
                    rule: .candidateTenant, result: result, detail: id.description, about: [about]))
        }
        if let invite = tenant.lapsedInvite?.invite {
            let isRevoked = invite.status(at: now) == .revoked
            add(isRevoked ? "invite_revoked" : "invite_expired", invite.id, .invite(invite))
        }
        let covers = email.map { tenant.domain?.covers($0.domain) == true } ?? false
        let isKnown = facts.known.contains { $0.tenantID == tenant.id }
        if tenant.status == .suspended,
            covers || isKnown || tenant.user != nil || tenant.invite != nil
        {
            add("tenant_suspended", tenant.id, .tenant(tenant.id))
        }
        if let domain = tenant.unprovedDomain { add("domain_unproved", domain.id, .domain(domain)) }
        if let domain = tenant.parentDomain {
            add("subdomain_not_included", domain.id, .domain(domain))
        }
        return steps
    }
}
