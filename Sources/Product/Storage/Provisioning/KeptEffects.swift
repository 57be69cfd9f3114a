import Domain
import Postgres
import Text

/// What waits for a later call: reservations and choices.
extension EffectWriting {
    func keep(_ effect: Effect) async throws {
        let key = attempt.identity
        let now = change.now
        let address = attempt.email?.key ?? ""
        let caller = call.caller ?? .platform
        let target = AuditTarget("identity", change.tenant, key.provider.rawValue)
        switch effect {
        case .reserve(let tenant, let invite):
            try await change.query(
                """
                INSERT INTO reservations (caller, provider, issuer, subject, tenant_id, invite_id,
                    email_key, expires_at)
                VALUES (\(caller), \(key.provider.rawValue), \(key.issuer), \(key.subject),
                    \(tenant), \(invite), \(address),
                    \(now.adding(seconds: Reservation.lifetime)))
                ON CONFLICT (caller, provider, issuer, subject) DO UPDATE
                SET tenant_id = excluded.tenant_id, invite_id = excluded.invite_id,
                    email_key = excluded.email_key, expires_at = excluded.expires_at, alias = NULL
                """)
            try await change.audit("sign_up.reserved", target)
        case .endReservation(let caller):
            try await change.query(
                """
                DELETE FROM reservations WHERE caller = \(caller)
                    AND provider = \(key.provider.rawValue) AND issuer = \(key.issuer)
                    AND subject = \(key.subject)
                """)
            try await change.audit("sign_up.completed", target)
        case .recordChoices(let tenants):
            let end = now.adding(seconds: Provisioning.choicesFor)
            for id in tenants {
                try await change.query(
                    """
                    INSERT INTO pending_choices (identity, tenant_id, email_key, created_at,
                        expires_at)
                    VALUES (substring(\(identityKey) FOR 36), \(id), \(address), \(now), \(end))
                    ON CONFLICT (identity, tenant_id) DO UPDATE
                    SET email_key = excluded.email_key, expires_at = excluded.expires_at
                    """)
            }
            try await change.audit("sign_up.deferred", target)
        case .removeChoice(let tenant):
            try await change.query(
                """
                DELETE FROM pending_choices
                WHERE identity = ANY (person_keys(\(identityKey))) AND tenant_id = \(tenant)
                """)
            try await change.audit("sign_up.chosen", target)
        default: break
        }
    }
}
