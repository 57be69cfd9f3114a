import Domain
import Postgres
import Text

/// Why a tenant may see its part of a decision that belongs to no tenant.
enum DecisionPart: String, Sendable {
    /// Its verified domain, or one of its users who has signed in: it sees the whole part.
    case domain, user
    /// Its invite only: it sees the time, the outcome, and that this invite did not help.
    case invite
}

extension Change {
    /// Writes what each tenant involved may read of a decision without a tenant.
    func recordParts(
        of result: ProvisioningResult, _ reading: FactsReading
    ) async throws(PostgresError) {
        guard result.verdict.tenantID == nil, let id = result.decisionID else { return }
        let about = result.verdict.trace.flatMap(\.about)
        let tenants = Set(about.compactMap(\.tenantID)).intersection(reading.facts.tenants.keys)
        for tenant in tenants.sorted() {
            let tenantChange = try await switching(to: tenant)
            let own = Set(about.filter { $0.tenantID == tenant })
            guard let part = try await tenantChange.part(own, reading.facts.tenants[tenant]) else {
                continue
            }
            try await tenantChange.record(part, id, result, reading)
        }
        _ = try await switching(to: self.tenant)
    }

    private func part(
        _ about: Set<TraceReference>, _ facts: TenantFacts?
    ) async throws(PostgresError) -> DecisionPart? {
        if let domain = facts?.domain, about.contains(.domain(domain)) { return .domain }
        let users = about.filter { $0.kind == .user }.map(\.id)
        if !users.isEmpty {
            let signedIn = try await query(
                """
                SELECT 1 FROM users WHERE tenant_id = \(tenant) AND id = ANY(\(users))
                    AND last_sign_in_at IS NOT NULL LIMIT 1
                """)
            if !signedIn.isEmpty { return .user }
        }
        return about.contains { $0.kind == .invite } ? .invite : nil
    }

    private func record(
        _ part: DecisionPart, _ id: UUID, _ result: ProvisioningResult, _ reading: FactsReading
    ) async throws(PostgresError) {
        let (verdict, attempt) = (result.verdict, reading.attempt)
        let publicReason =
            verdict.outcome == .refused && reading.call.isInPerson
            ? result.publicReason : verdict.reason
        var steps = verdict.trace.filter { step in
            step.about.contains { $0.tenantID == tenant }
                && step.about.allSatisfy { $0.tenantID == tenant }
        }
        if part == .invite { steps = steps.filter { $0.about.contains { $0.kind == .invite } } }
        let isWhole = part != .invite
        let email = isWhole ? attempt.email : nil
        let own = verdict.trace.flatMap(\.about).filter { $0.tenantID == tenant }
        let user = isWhole ? own.first { $0.kind == .user }?.id : nil
        try await query(
            """
            INSERT INTO decisions (tenant_id, id, created_at, outcome, reason, reference, email,
                email_key, provider, issuer, subject, user_id, invite_id, trace, duration_ms, part)
            VALUES (\(tenant), \(id), \(now), \(verdict.outcome.rawValue),
                \(isWhole ? publicReason?.rawValue : nil), \(isWhole ? result.reference : ""),
                \(email?.display), \(email?.key),
                \(isWhole ? attempt.identity.provider.rawValue : ""), '', '', \(user),
                \(own.first { $0.kind == .invite }?.id), \(JSONB(steps.document)), 0,
                \(part.rawValue))
            """)
    }
}
