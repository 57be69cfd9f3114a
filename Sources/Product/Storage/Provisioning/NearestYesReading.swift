import Domain
import JSON
import Postgres
import Text

extension ResolvedAttempt {
    /// What is stored about the attempt, in addition to its decision.
    var document: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        return .object([
            .init("provider", text(provider?.id.description)),
            .init("trigger", .string(attempt.trigger.rawValue)),
            .init("upstream", text(attempt.upstream)),
            .init("email_verified", attempt.emailVerified.map { .bool($0) } ?? .null),
            .init("hosted_domain", text(attempt.hostedDomain)),
            .init("client_id", text(attempt.clientID)),
            .init("has_token", .bool(attempt.hasInviteToken)),
            .init("has_join_token", .bool(attempt.hasJoinToken)),
            .init("asked", .array(asked.map { text($0.tenantID?.description) })),
        ])
    }
}

extension Database {
    /// The changes, each of which alone would now admit the refused attempt. `reader` is the tenant
    /// that asks, and only its facts are read. If `reader` is nil, the platform asks, and the facts
    /// of all tenants are read.
    package func wouldAdmit(_ decision: UUID, reader: UUID?) async throws -> [NearestYes] {
        let rows = try await platform.read(
            """
            SELECT tenant_id, reason, email, provider, issuer, subject, invite_id, attempt::text,
                trace::text
            FROM decisions WHERE id = \(decision) AND part IS NULL AND outcome = 'refused'
            """)
        guard let row = rows.first, let reason = Reason(rawValue: try row.get(1)),
            let kind = ProviderKind(rawValue: try row.get(3))
        else { return [] }
        let stored = try row.json(7)
        guard let trigger = stored["trigger"]?.string.flatMap(Attempt.Trigger.init) else {
            return []
        }
        var attempt = Attempt(
            trigger: trigger,
            identity: IdentityKey(provider: kind, issuer: try row.get(4), subject: try row.get(5)),
            upstream: stored["upstream"]?.string,
            address: Change.address(try row.get(2, as: String?.self)),
            emailVerified: stored["email_verified"]?.bool,
            hostedDomain: stored["hosted_domain"]?.string, clientID: stored["client_id"]?.string)
        attempt.hasInviteToken = stored["has_token"]?.bool ?? false
        attempt.hasJoinToken = stored["has_join_token"]?.bool ?? false
        var named = ResolvedAttempt(attempt: attempt)
        named.asked = (stored["asked"]?.array ?? []).map {
            AskedTenant(.attempt, $0.string.flatMap { UUID($0) })
        }
        if let reader { named.asked = [AskedTenant(.attempt, reader)] }
        let home: UUID = try row.get(0)
        let invite: UUID? = try row.get(6, as: UUID?.self)
        let provider = stored["provider"]?.string.flatMap { UUID($0) }
        let link = attempt.hasJoinToken ? Self.joinLink(in: try row.json(8)) : nil
        return try await nearest(
            named, provider: provider, invite: attempt.hasInviteToken ? invite : nil,
            joinLink: link, at: home, reason)
    }

    /// The id of the join link that a trace refers to; `nil` if it refers to none.
    private static func joinLink(in trace: JSONValue) -> UUID? {
        (trace.array ?? []).flatMap { $0["about"]?.array ?? [] }
            .first { $0["type"]?.string == TraceReference.Kind.joinLink.rawValue }?["id"]?.string
            .flatMap { UUID($0) }
    }

    private func nearest(
        _ named: ResolvedAttempt, provider: UUID?, invite: UUID?, joinLink: UUID?, at home: UUID,
        _ reason: Reason
    ) async throws -> [NearestYes] {
        try await platformScope.change(by: .system, dryRun: true) { change in
            var change = change
            change.locksRows = false
            let found = try await change.query(
                "SELECT \(ProviderRow.columns) FROM providers WHERE id = \(provider)")
            var named = named
            named.provider = try found.first.map(ProviderRow.init)?.provider
            if invite != nil || joinLink != nil {
                let tenantChange = try await change.switching(to: home)
                (named.tokenHash, named.joinHash) = try await tenantChange.tokenHashes(
                    invite: invite, joinLink: joinLink)
            }
            let key = named.attempt.identity
            let call = ProvisioningCall(
                provider: .attempt(
                    key.provider.rawValue, issuer: key.issuer, subject: key.subject))
            var reading = FactsReading(self, call, named, change)
            try await reading.read()
            try await reading.readUnhelpful()
            return Provisioning.wouldAdmit(
                named.attempt, facts: reading.facts, refused: reason, now: change.now)
        }
    }
}

extension Change {
    /// The hashes of the tokens of the invite and the join link that the person used.
    fileprivate func tokenHashes(
        invite: UUID?, joinLink: UUID?
    ) async throws(PostgresError) -> (invite: [UInt8]?, joinLink: [UInt8]?) {
        let rows = try await query(
            """
            SELECT (SELECT token_hash FROM invites WHERE tenant_id = \(tenant) AND id = \(invite)),
                (SELECT token_hash FROM join_links
                    WHERE tenant_id = \(tenant) AND id = \(joinLink))
            """)
        return (
            try rows.first?.get(0, as: [UInt8]?.self) ?? nil,
            try rows.first?.get(1, as: [UInt8]?.self) ?? nil
        )
    }
}
