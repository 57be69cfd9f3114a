import Domain
import Postgres
import Text

/// Makes the mail that informs an inviter of a declined invite, from the tenant, the inviter's
/// address and the invited address.
package typealias DeclineMail =
    @Sendable (_ tenant: TenantRow, _ inviter: String, _ invited: String) -> OutgoingMail

/// How a person declines a tenant that would admit them.
extension Database {
    /// Declines the tenant with this id or slug for the person. If the tenant would not admit the
    /// person, nothing changes, but the response is the same. Such calls count like refusals; over
    /// a limit they become `rate_limited`, with one decision per minute. If `mail` is nil, the
    /// inviter gets no mail.
    package func decline(
        _ call: ProvisioningCall, tenant: String, by actor: Actor,
        mail: DeclineMail?, render: @escaping Render
    ) async throws -> ProvisioningResult {
        let result = try await options.personLock.withExclusive(
            keys: call.personKeys, by: call.callerName
        ) {
            try await afterRaces {
                try await platformScope.change(by: actor, setsTenant: false) { change in
                    try await change.deciding {
                        try await declined(call, tenant, $0, mail, render)
                    }
                }
            }
        }
        options.onDecision(result.verdict.outcome)
        return result
    }

    private func declined(
        _ call: ProvisioningCall, _ tenant: String, _ change: Change, _ mail: DeclineMail?,
        _ render: Render
    ) async throws -> ProvisioningResult {
        let started = ContinuousClock.now
        let named = try await preferringKnown(change.named(call), call, change)
        var reading = FactsReading(self, call, named, change)
        reading.begin()
        try await reading.read()
        if let id = try await change.tenantID(tenant), reading.mayDecline(id) {
            try await reading.decline(id, mail: mail)
            reading = FactsReading(self, call, named, try await change.switching(to: .platform))
            try await reading.read()
        } else if let limit = try await exceededLimit(named, call, change) {
            let (verdict, digest) = limited(limit, reading, change)
            if let earlier = try await change.recordedAnswer(digest, isEvent: false) {
                let tenantChange = try await change.switching(to: verdict.tenantID ?? .platform)
                return try await replayed(earlier, verdict, reading, tenantChange)
            }
            return try await answer(verdict, reading, named, digest, since: started, render)
        }
        let verdict = Provisioning.rest(
            attempt: named.attempt, facts: reading.facts, now: change.now)
        return try await answer(verdict, reading, named, nil, since: started, render)
    }

    /// Records the decision and returns its result. With a `digest`, later calls with the same
    /// digest get this result too.
    private func answer(
        _ verdict: Verdict, _ reading: FactsReading, _ named: ResolvedAttempt, _ digest: [UInt8]?,
        since started: ContinuousClock.Instant, _ render: Render
    ) async throws -> ProvisioningResult {
        let tenantChange = try await reading.change.switching(to: verdict.tenantID ?? .platform)
        var result = try await result(verdict, reading, tenantChange, identity: nil)
        result.decisionID = tenantChange.actor.decisionID
        result.reference = Base62.randomText(6)
        result.answer = render(result)
        try await tenantChange.recordDecision(
            result, named, policy: reading.tenants[tenantChange.tenant]?.policyVersion,
            since: started)
        try await tenantChange.recordParts(of: result, reading)
        if let digest { try await tenantChange.record(result, for: digest) }
        return result
    }
}

extension FactsReading {
    fileprivate func mayDecline(_ tenant: UUID) -> Bool {
        Provisioning.mayDecline(tenant, attempt: attempt, facts: facts, now: change.now)
    }

    /// Revokes the person's pending invite, if there is one, and records that they declined the
    /// tenant, so that it is no longer offered to them.
    fileprivate func decline(_ tenant: UUID, mail: DeclineMail?) async throws {
        var tenantChange = try await change.switching(to: tenant)
        let user = facts.tenants[tenant]?.user?.id
        tenantChange.actor.type = "person"
        tenantChange.actor.id = user?.description ?? ""
        tenantChange.actor.name = "The invited person"
        if let found = facts.tenants[tenant]?.invite, found.invite.isLive(at: change.now) {
            let invite = try await tenantChange.lockInvite(found.invite.id)
            let revoked = try await tenantChange.revoke(invite)
            if let mail, let row = tenants[tenant],
                let inviter = try await tenantChange.inviterAddress(revoked)
            {
                try await tenantChange.post(
                    mail(row, inviter, invite.email), about: invite.id)
            }
        }
        let end = change.now.adding(seconds: Provisioning.choicesFor)
        try await tenantChange.query(
            """
            INSERT INTO pending_choices (identity, tenant_id, email_key, created_at, expires_at,
                declined_at)
            VALUES (substring(\(identityKey)::bytea FOR 36), \(tenant), \(attempt.email?.key ?? ""), \(change.now), \(end),
                \(change.now))
            ON CONFLICT (identity, tenant_id) DO UPDATE
            SET expires_at = excluded.expires_at, declined_at = excluded.declined_at
            """)
        try await tenantChange.audit(
            .signUpDeclined,
            AuditTarget("identity", tenant, attempt.identity.provider.rawValue))
    }
}

extension Change {
    /// The address of the person who sent an invite; `nil` if the invite was sent with a key that
    /// has no owner, or if the person is no longer active.
    fileprivate func inviterAddress(_ invite: InviteRow) async throws(PostgresError) -> String? {
        guard let id = UUID(invite.inviterID) else { return nil }
        let rows: Rows
        switch invite.inviterType {
        case "operator":
            rows = try await query(
                "SELECT email FROM operators WHERE id = \(id) AND status = 'active'")
        case "user":
            rows = try await query(
                """
                SELECT email FROM users WHERE tenant_id = \(tenant)
                    AND id = \(MergedUsers.survivor(of: id, in: tenant)) AND status = 'active'
                """)
        default:
            rows = try await query(
                """
                SELECT u.email FROM api_keys k
                JOIN users u ON u.tenant_id = \(tenant) AND u.id = k.owner_user_id
                WHERE k.tenant_id = \(tenant) AND k.id = \(id) AND u.status = 'active'
                """)
        }
        return try rows.first?.get(0, as: String.self)
    }
}
