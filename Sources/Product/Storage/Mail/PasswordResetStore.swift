import Cryptography
import Domain
import Postgres
import Text

/// Password resets: anyone may ask, existing accounts get a mail, each link is used once.
extension Database {
    /// Seconds that a reset's link is valid.
    package static let resetSeconds: Int64 = 3600

    /// A link to choose a new password, for the server's administrator to hand over without mail.
    /// Nil if no operator has the address or if that operator is suspended.
    package func offerOperatorReset(
        to emailKey: String, tokenHash: [UInt8], by actor: Actor
    ) async throws -> OperatorRow? {
        try await platformScope.change(by: actor) { change -> OperatorRow? in
            let rows = try await change.query(
                """
                SELECT \(OperatorRow.columns) FROM operators o
                WHERE o.email_key = \(emailKey) AND o.status <> 'suspended'
                ORDER BY o.confirmed DESC, o.created_at, o.id LIMIT 1
                """)
            guard let row = rows.first else { return nil }
            let person = try OperatorRow(row)
            try await change.addOperatorLink(
                tokenHash, for: person.id, to: .passwordReset, seconds: Self.resetSeconds,
                isMailed: false)
            let named = try await change.switching(to: person.tenant ?? .platform)
            try await named.audit(
                .operatorResetOffered, AuditTarget("operator", person.id, person.email))
            return person
        }
    }

    /// Whether an operator's link is still valid, so that no password is hashed for a dead one.
    package func isOperatorResetLive(_ tokenHash: [UInt8]) async throws(PostgresError) -> Bool {
        try await !app.read(
            """
            SELECT 1 FROM operator_links WHERE token_hash = \(tokenHash)
                AND purpose = 'password_reset' AND used_at IS NULL AND expires_at > \(clock())
            """
        ).isEmpty
    }

    /// Sets an operator's password by a link's token and ends all their sessions; nil if the token
    /// is unknown, used or expired.
    package func resetOperatorPassword(
        tokenHash: [UInt8], passwordHash: String, requestID: String, ip: String?
    ) async throws -> OperatorRow? {
        try await platformScope.change(by: .system) { change -> OperatorRow? in
            guard let link = try await change.useLink(tokenHash, to: .passwordReset) else {
                return nil
            }
            let id = link.person
            let rows = try await change.query(
                """
                UPDATE operators AS o SET password_hash = \(passwordHash), version = version + 1,
                    proof_version = proof_version + 1, updated_at = \(change.now)
                WHERE o.id = \(id) AND o.status <> 'suspended' RETURNING \(OperatorRow.columns)
                """)
            guard let row = rows.first else { return nil }
            let person = try OperatorRow(row)
            try await change.query("DELETE FROM operator_sessions WHERE operator_id = \(id)")
            try await change.endLinks(of: id, keeping: .aboutFactors)
            try await change.forgetDevices(of: id)
            let actor = Actor(
                type: "operator", id: id.description, name: person.name ?? person.email,
                requestID: requestID, ip: ip)
            let named = try await change.switching(to: person.tenant ?? .platform)
                .acting(as: actor)
            try await named.audit(.operatorPasswordReset, AuditTarget("operator", id, person.email))
            if link.isMailed {
                try await named.confirmOperator(id)
            } else {
                // The server's administrator handed it over, to who lost every other way.
                try await named.resetFactors(of: person)
            }
            return person
        }
    }

    /// The policy that the new password has to satisfy; nil for a dead token.
    package func policy(
        forResetToken token: String
    ) async throws -> (tenant: UUID, policy: TenantPolicy)? {
        guard let tenant = try await tenant(ofToken: token) else { return nil }
        let rows = try await scope(tenant).read(
            """
            SELECT 1 FROM password_resets WHERE tenant_id = \(tenant)
                AND token_hash = \(TenantToken.hash(token)) AND used_at IS NULL
                AND expires_at > \(clock())
            """)
        if rows.isEmpty { return nil }
        return (tenant, try await scope(tenant).policy().policy)
    }

    /// Sets a user's password by a link's token and ends all their sessions; false if the token is
    /// unknown, used or expired.
    package func resetUserPassword(
        _ token: String, in tenant: UUID, passwordHash: String, requestID: String, ip: String?
    ) async throws -> Bool {
        do {
            return try await resetPassword(
                token, in: tenant, passwordHash: passwordHash, requestID: requestID, ip: ip)
        } catch is DeadReset {
            return false
        }
    }

    private func resetPassword(
        _ token: String, in tenant: UUID, passwordHash: String, requestID: String, ip: String?
    ) async throws -> Bool {
        let hash = TenantToken.hash(token)
        return try await scope(tenant).change(by: .system) { change in
            let found = try await change.query(
                """
                SELECT user_id, by_operator FROM password_resets
                WHERE tenant_id = \(tenant) AND token_hash = \(hash)
                """)
            guard let user = try found.first?.get(0, as: UUID.self) else { return false }
            let mayBeFirst = try found.first?.get(1, as: Bool.self) ?? false
            // The user's row is locked first, as everywhere.
            let rows = try await change.query(
                """
                WITH old AS (SELECT status FROM users
                    WHERE tenant_id = \(tenant) AND id = \(user) FOR UPDATE)
                UPDATE users u SET password_hash = \(passwordHash), password_awaited = false,
                    must_change_password = false, password_changed_at = \(change.now),
                    signed_out_at = \(change.now), status = 'active', resumed_at = \(change.now),
                    email_verified_at = CASE WHEN old.status = 'pending'
                        THEN coalesce(u.email_verified_at, \(change.now))
                        ELSE u.email_verified_at END,
                    version = u.version + 1, updated_at = \(change.now)
                FROM old
                WHERE u.tenant_id = \(tenant) AND u.id = \(user)
                    AND (u.status = 'active' AND (u.password_hash IS NOT NULL OR \(mayBeFirst))
                        OR u.status IN ('active', 'pending') AND u.password_awaited)
                RETURNING u.email, old.status
                """)
            guard let row = rows.first else { return false }
            let (email, status): (String, User.Status) = try row.columns()
            let used = try await change.query(
                """
                UPDATE password_resets SET used_at = \(change.now)
                WHERE tenant_id = \(tenant) AND token_hash = \(hash) AND used_at IS NULL
                    AND expires_at > \(change.now)
                RETURNING 1
                """)
            guard !used.isEmpty else { throw DeadReset() }
            try await change.endResets(of: user)
            try await change.query(
                "DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(user)")
            let actor = Actor(
                type: "user", id: user.description, name: email, requestID: requestID, ip: ip)
            var changes = AuditChanges()
            changes.add("status", status, .active)
            try await change.acting(as: actor).audit(
                .userPasswordReset, AuditTarget("user", user, email), changes)
            return true
        }
    }
}

/// Rolls back a reset whose token was used concurrently.
private struct DeadReset: Error {}
