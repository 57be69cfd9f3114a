import Domain
import Postgres
import Text

/// Effects stored for a later call: reservations and choices.
extension EffectWriting {
    func keep(_ effect: Effect) async throws {
        let key = attempt.identity
        let now = change.now
        let address = attempt.email?.key ?? ""
        let caller = call.caller ?? .platform
        let target = AuditTarget("identity", change.tenant, key.provider.rawValue)
        switch effect {
        case .reserve(let tenant, let invite, let joinLink):
            // Later events carry no link grant; it is used once the address is proved.
            let made = try await change.query(
                """
                INSERT INTO reservations (caller, provider, issuer, subject, tenant_id, invite_id,
                    join_link_id, email_key, expires_at, link_grant)
                VALUES (\(caller), \(key.provider.rawValue), \(key.issuer), \(key.subject),
                    \(tenant), \(invite), \(joinLink), \(address),
                    \(now.adding(seconds: Reservation.lifetime)),
                    \(call.linkGrant.map(TenantToken.hash)))
                ON CONFLICT (caller, provider, issuer, subject) DO UPDATE
                SET tenant_id = excluded.tenant_id, invite_id = excluded.invite_id,
                    join_link_id = excluded.join_link_id,
                    email_key = excluded.email_key, expires_at = excluded.expires_at,
                    link_grant = excluded.link_grant, alias = NULL
                RETURNING number
                """)
            try await trim(caller, address, number: made.only { try $0.get(0) })
            try await change.audit(.signUpReserved, target)
        case .endReservation(let caller):
            try await change.query(
                """
                DELETE FROM reservations WHERE caller = \(caller)
                    AND provider = \(key.provider.rawValue) AND issuer = \(key.issuer)
                    AND subject = \(key.subject)
                """)
            try await change.audit(.signUpCompleted, target)
        case .recordChoices(let tenants):
            let end = now.adding(seconds: Provisioning.choicesFor)
            for id in tenants {
                try await change.query(
                    """
                    INSERT INTO pending_choices (identity, tenant_id, email_key, created_at,
                        expires_at)
                    VALUES (substring(\(identityKey)::bytea FOR 36), \(id), \(address), \(now), \(end))
                    ON CONFLICT (identity, tenant_id) DO UPDATE
                    SET email_key = excluded.email_key, expires_at = excluded.expires_at
                    """)
            }
            try await change.audit(.signUpDeferred, target)
        case .removeChoice(let tenant):
            try await change.query(
                """
                DELETE FROM pending_choices
                WHERE identity = ANY (person_keys(\(identityKey))) AND tenant_id = \(tenant)
                """)
            try await change.audit(.signUpChosen, target)
        default: break
        }
    }

    /// Keeps the caller's reservations within their limits. Those of a pool are trimmed once per
    /// `step`, so that a large number is not counted at every sign-up.
    private func trim(_ caller: UUID, _ address: String, number: Int64) async throws {
        let limits = database.limits
        try await change.query(
            """
            DELETE FROM reservations WHERE caller = \(caller) AND email_key = \(address)
                AND number IN (SELECT number FROM reservations
                    WHERE caller = \(caller) AND email_key = \(address)
                    ORDER BY expires_at DESC, number DESC
                    OFFSET \(Int64(limits.reservationsPerAddress)))
            """)
        let step = max(1, limits.reservationsPerPool / 1000)
        guard number % Int64(step) == 0 else { return }
        let pool = attempt.identity.issuer
        try await change.query(
            """
            DELETE FROM reservations WHERE caller = \(caller) AND issuer = \(pool)
                AND number IN (SELECT number FROM reservations
                    WHERE caller = \(caller) AND issuer = \(pool)
                    ORDER BY expires_at DESC, number DESC
                    OFFSET \(Int64(limits.reservationsPerPool - step + 1)))
            """)
    }
}
