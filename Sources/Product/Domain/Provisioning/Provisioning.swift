import Text

/// Decides from facts alone who a person is and which tenant they enter. Real runs and dry runs
/// both use `decide`, but a dry run does not write the effects.
package enum Provisioning {
    /// Seconds for which a deleted user, or a declined person, blocks the address.
    package static let deletedFor: Int64 = 30 * 86_400
    /// The maximum number of people who may wait for approval in one tenant.
    package static let waitingMax = 1000
    /// Seconds for which a person may choose between tenants that were offered.
    package static let choicesFor: Int64 = 30 * 86_400

    /// Runs the rules in order, without reading a clock or a database, and returns the verdict. A
    /// refusal has no effects.
    package static func decide(attempt: Attempt, facts: Facts, now: Timestamp) -> Verdict {
        var run = Evaluation(attempt: attempt, facts: facts, now: now)
        var verdict = run.verdict()
        if attempt.trigger == .nativeAdminCreate, verdict.reason == .noTenant,
            run.askedIsSound, facts.provider?.allowsAdminCreate == true
        {
            run.note(.adminCreate, "reserved", "the pool allows it")
            verdict = Verdict(.reserved)
        }
        if verdict.outcome == .refused { verdict.effects = [] }
        verdict.publicReason = run.publicReason(verdict)
        verdict.trace = run.trace
        return verdict
    }
}

/// The state of one pass through the rules. Each rule is a method, in a file of its own. The method
/// returns a verdict, or nil to continue with the next rule.
struct Evaluation {
    let attempt: Attempt
    let facts: Facts
    let now: Timestamp
    private(set) var trace: [TraceEntry] = []
    /// The tenant that the inputs name; `nil` if they name none.
    var asked: TenantFacts?
    /// Whether the requested tenant can be used. False if the inputs name different tenants, or a
    /// tenant that does not exist.
    var askedIsSound = true
    /// The tenant that rule 4 found, in which rules 5–10 decide.
    var candidate: TenantFacts?
    var knowledge: Knowledge?
    /// The valid invite that rules 4–8 use.
    var invite: InviteFacts?
    /// The valid join link that rules 4 and 10 use.
    var joinLink: JoinLinkFacts?
    /// Whether the attempt has a valid invite token and an address that differs from the invited
    /// one, as the policy allows.
    var otherAddress = false
    var addressTrust: AddressTrust = .none
    /// The rule that refused; `nil` if none did.
    private(set) var refusingRule: Rule?
    /// The refusal of rule 1, which is kept while another tenant may still admit the person.
    var heldRefusal: HeldRefusal?

    mutating func verdict() -> Verdict {
        guard let provider = facts.provider else {
            return refuse(.provider, .providerUnknown, attempt.identity.provider.rawValue)
        }
        // If an upstream is mapped, the identity's provider is the kind from the mapping, not
        // `cognito`.
        if provider.strictUpstreams, let name = attempt.upstream,
            provider.upstream(named: name) == nil, attempt.identity.provider == .cognito
        {
            return refuse(.provider, .providerUnknown, "an upstream that is not listed")
        }
        note(
            .provider, "known", provider.id.description,
            about: [TraceReference(.provider, provider.id, of: provider.tenantID)])
        if let verdict = userName(provider) { return verdict }
        if let verdict = resolveAskedTenant() { return verdict }
        addressTrust = computeAddressTrust(provider)
        if let verdict = knownIdentity(in: asked) { return verdict }
        if let verdict = formerHolder() { return verdict }
        if let verdict = address() { return verdict }
        if let verdict = inviteToken() { return verdict }
        if let verdict = joinToken() { return verdict }
        if let verdict = candidateTenants() { return verdict }
        if let verdict = formerHolderUninvited() { return verdict }
        if let verdict = trustInAddress() { return verdict }
        guard let tenant = candidate else {
            return refuse(.candidateTenant, .noTenant, "no candidate")
        }
        if let verdict = barredIdentity(tenant) { return verdict }
        if let verdict = liveInvite(tenant) { return verdict }
        if let verdict = pendingRow(tenant) { return verdict }
        if let verdict = activeUser(tenant) { return verdict }
        if let verdict = blockedAddress(tenant) { return verdict }
        if let verdict = joined(tenant) { return verdict }
        if let verdict = verifiedDomain(tenant) { return verdict }
        return openTenant(tenant)
    }

    mutating func note(
        _ rule: Rule, _ result: String, _ detail: String, about: [TraceReference] = []
    ) {
        trace.append(TraceEntry(rule: rule, result: result, detail: detail, about: about))
    }

    mutating func refuse(
        _ rule: Rule, _ reason: Reason, _ detail: String, tenant: UUID? = nil,
        user: UUID? = nil, invite: UUID? = nil, about: [TraceReference] = []
    ) -> Verdict {
        note(rule, reason.rawValue, detail, about: about)
        refusingRule = rule
        var verdict = Verdict(.refused, reason: reason)
        verdict.tenantID = tenant ?? candidate?.id ?? asked?.id
        verdict.userID = user
        verdict.inviteID = invite ?? self.invite?.invite.id
        return verdict
    }

    /// Returns the verdict of a success, with the effects that every success has. A native sign-up
    /// without a proved address is only reserved.
    mutating func succeed(
        _ rule: Rule, _ outcome: Outcome, tenant: TenantFacts, user: UUID?, invite: UUID? = nil,
        effects: [Effect]
    ) -> Verdict {
        if attempt.trigger.isUnprovedNative {
            note(rule, "reserved", "would be \(outcome.rawValue)", about: [.tenant(tenant.id)])
            var verdict = Verdict(.reserved)
            verdict.tenantID = tenant.id
            verdict.inviteID = invite
            // Only an invite whose token was sent is reserved. The invite that the rules found may
            // be another one, which they found by the address.
            let token = attempt.hasInviteToken ? facts.invite?.invite.id : nil
            let link = attempt.hasJoinToken ? facts.joinLink?.link.id : nil
            verdict.effects = [.reserve(tenant: tenant.id, invite: token, joinLink: link)]
            return verdict
        }
        let about = user.map { TraceReference.user($0, of: tenant.id) } ?? .tenant(tenant.id)
        note(rule, outcome.rawValue, user?.description ?? "a new user", about: [about])
        var verdict = Verdict(outcome)
        verdict.tenantID = tenant.id
        verdict.userID = user
        verdict.inviteID = invite
        verdict.effects = effects + closing(tenant.id)
        return verdict
    }

    /// Returns the effects that remove the reservation and the open choice after a success.
    func closing(_ tenant: UUID) -> [Effect] {
        var effects: [Effect] = []
        if let reservation = facts.reservation {
            effects.append(.endReservation(caller: reservation.caller))
        }
        if facts.pendingChoices.contains(tenant) { effects.append(.removeChoice(tenant: tenant)) }
        return effects
    }
}

/// The steps of provisioning, in the order in which they run. Traces and the tables of
/// `deploy/docs/decisions.md` refer to the rules by number.
package enum Rule: String, Sendable, CaseIterable {
    /// The rate limit of attempts, which is checked before any rule.
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
    /// The tenant's block list. It applies only to people whom neither an operator nor an invite
    /// admits.
    case blockList = "block_list"
    case verifiedDomain = "9"
    case openTenant = "10"
    /// A pool's administrator created a user whom no other rule admits.
    case adminCreate = "admin_create"
    /// The pool confirmed a sign-up that was decided earlier.
    case confirmation

    var number: Int? { Int(rawValue) }
}

extension Provisioning {
    /// Whether this person may decline the tenant. The address must be proved. The tenant must have
    /// a valid invite, a pending row or a domain for the address, or it must have been offered as a
    /// choice. The person must not be an active user there, and must not have declined it before.
    package static func mayDecline(
        _ tenant: UUID, attempt: Attempt, facts: Facts, now: Timestamp
    ) -> Bool {
        guard let provider = facts.provider, let found = facts.tenants[tenant],
            found.status == .active,
            !facts.known.contains(where: { $0.tenantID == tenant && $0.user.status == .active })
        else { return false }
        var run = Evaluation(attempt: attempt, facts: facts, now: now)
        run.addressTrust = run.computeAddressTrust(provider)
        guard run.addressTrust > .none, !run.isDeclined(found), let known = run.knows(found) else {
            return false
        }
        switch known {
        case .liveInvite, .pendingRow, .domain: return true
        default: return facts.pendingChoices.contains(tenant)
        }
    }

    /// Returns the verdict after a person declined one choice: the person's existing users, or the
    /// remaining choices. It has no effects: if the rules would now admit the person to a tenant,
    /// that tenant is only offered as a choice.
    package static func rest(attempt: Attempt, facts: Facts, now: Timestamp) -> Verdict {
        var verdict = decide(attempt: attempt, facts: facts, now: now)
        verdict.effects = []
        switch verdict.outcome {
        case .existing, .deferred: return verdict
        case .created, .linked, .reserved:
            var rest = Verdict(.deferred, reason: .tenantChoiceRequired)
            rest.choices = verdict.tenantID.map { [$0] } ?? []
            rest.trace = verdict.trace
            return rest
        case .refused:
            // A refusal for any other reason than `noTenant` stays. So does a refusal whose real
            // reason is hidden, because a stranger must get the same text for every refusal.
            guard verdict.reason == .noTenant, verdict.publicReason == nil else { return verdict }
            var rest = Verdict(.deferred)
            rest.trace = verdict.trace
            return rest
        }
    }
}
