import Cryptography
import Domain
import Postgres
import Text

extension Change {
    /// Returns the same transaction with another actor. Audit rows that are written through the
    /// returned value name this actor.
    func acting(as actor: Actor) -> Change {
        var change = self
        change.actor = actor
        return change
    }

    /// Invalidates all reset links of the user, and drops reset mails that are still waiting, so
    /// that a reader of an old mail cannot undo a new password. Also cancels a pending change of
    /// the address.
    func endResets(of user: UUID) async throws(PostgresError) {
        try await dropMail(.passwordReset, about: user)
        try await endEmailChange(of: user)
        try await query(
            """
            UPDATE password_resets SET used_at = \(now)
            WHERE tenant_id = \(tenant) AND user_id = \(user) AND used_at IS NULL
            """)
    }

    /// Mails a reset link to the operator who has confirmed the address. If no operator has
    /// confirmed it, mails the link to the operator with this address, but only if there is exactly
    /// one. In a tenant, only the tenant's own operators count.
    func offerOperatorReset(
        _ emailKey: String, _ publicURL: String
    ) async throws {
        let isTenants = tenant != .platform
        let rows = try await query(
            """
            SELECT id, email, confirmed FROM operators
            WHERE email_key = \(emailKey) AND status <> 'suspended'
                AND (NOT \(isTenants) OR tenant_id = \(tenant))
            ORDER BY confirmed DESC LIMIT 2
            """)
        guard let row = rows.first, try rows.count == 1 || row.get(2, as: Bool.self) else { return }
        try await mailReset(of: row.get(0), to: row.get(1), publicURL)
    }

    /// Mails an operator a link to set a new password.
    func mailReset(
        of id: UUID, to email: String, _ publicURL: String
    ) async throws {
        // If no further link can be mailed, the previous one stays valid.
        guard try await hasRoom(.passwordReset, to: email) else { return }
        let token = TokenSecret.make()
        let end = now.adding(seconds: Database.resetSeconds)
        try await addOperatorLink(
            TokenSecret.hash(token) ?? [], for: id, to: .passwordReset,
            seconds: Database.resetSeconds, isMailed: true)
        try await post(
            OutgoingMail(
                .passwordReset, to: email,
                tenantName: tenant == .platform ? nil : tenantName(),
                link: "\(publicURL)/reset#token=\(token)", expiresAt: end),
            about: id)
    }

    /// Mails a user a reset link, but only if the user has a password, or had a password that an
    /// import could not transfer. A user who signs in only at a provider gets no link: the mailbox
    /// must not become a second way to sign in.
    func offerUserReset(
        _ emailKey: String, returnTo: String?, _ publicURL: String
    ) async throws {
        let rows = try await query(
            """
            SELECT u.id, u.email, t.name, t.locator FROM users u
            JOIN tenants t ON t.id = \(tenant)
            WHERE u.tenant_id = \(tenant) AND u.email_key = \(emailKey) AND t.status = 'active'
                AND (u.status = 'active' AND u.password_hash IS NOT NULL
                    OR u.status IN ('active', 'pending') AND u.password_awaited)
            """)
        guard let row = rows.first else { return }
        let id: UUID = try row.get(0)
        // If no further link can be mailed, the previous one stays valid.
        guard try await hasRoom(.passwordReset, to: row.get(1)) else { return }
        let token = TenantToken.make(locator: try row.get(3))
        let end = now.adding(seconds: Database.resetSeconds)
        try await endResets(of: id)
        try await query(
            """
            INSERT INTO password_resets (tenant_id, id, token_hash, user_id, return_to, created_at,
                expires_at)
            VALUES (\(tenant), \(UUID.random()), \(TenantToken.hash(token)), \(id), \(returnTo),
                \(now), \(end))
            """)
        try await post(
            OutgoingMail(
                .passwordReset, to: try row.get(1), tenantName: try row.get(2),
                link: "\(publicURL)/reset#token=\(token)", expiresAt: end),
            about: id)
    }
}

/// Password resets. Anyone may request one, existing accounts get a mail, and each link works once.
extension Database {
    /// Seconds for which the link of a reset is valid.
    package static let resetSeconds: Int64 = 3600

    /// Creates a link to set a new password. The server's administrator gives this link to the
    /// operator without a mail. Returns nil if no operator has the address, or if only suspended
    /// operators have it.
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

    /// Whether an operator's reset link is still valid. The caller checks this before it hashes the
    /// new password, so that no password is hashed for an invalid link.
    package func isOperatorResetLive(_ tokenHash: [UInt8]) async throws(PostgresError) -> Bool {
        try await !app.read(
            """
            SELECT 1 FROM operator_links WHERE token_hash = \(tokenHash)
                AND purpose = 'password_reset' AND used_at IS NULL AND expires_at > \(clock())
            """
        ).isEmpty
    }

    /// Sets an operator's password by the token of a reset link, and ends all their sessions.
    /// Returns nil if the token is unknown, used or expired.
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
                // Resets the factors too: the server's administrator made this link, for an
                // operator who can no longer sign in in any other way.
                try await named.resetFactors(of: person)
            }
            return person
        }
    }

    /// The policy that the new password must satisfy; `nil` for an invalid token.
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

    /// Sets a user's password by the token of a reset link, and ends all their sessions. Returns
    /// false if the token is unknown, used or expired.
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
            // The user's row is locked first, as in every transaction.
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

/// Thrown to roll back a reset whose token was used concurrently.
private struct DeadReset: Error {}

/// A request for a password reset that has not been handled yet.
package struct ResetAsk: Sendable {
    package var id: UUID
    /// The tenant whose users and own operators the request is for; the nil tenant if the request
    /// is for an operator of the platform.
    var tenant: UUID
    var emailKey: String
    /// The address to which the page of a user's reset leads after the new password is set; `nil`
    /// for none.
    var returnTo: String?
}

/// The queue of requests for resets. It is separate from the queue of mails, so that neither delays
/// the other. Most requests have no effect: a request for an unknown address costs only one
/// look-up.
extension Database {
    /// The maximum number of requests for one address and tenant that are handled in an hour.
    /// Further requests are dropped.
    static let resetsAnHour = MailLimit.ownAsks
    /// The maximum number of requests for resets that may wait at the same time.
    package static let waitingResetAsks = 10_000
    /// Seconds for which a replica leases the requests that it has taken.
    private static let resetAskLease: Int64 = 60
    package static let resetAskBatch = 50

    /// Queues a request for a reset; if `tenant` is nil, the request is for an operator. Does the
    /// same whether or not there is an account. Returns false if too many requests are waiting.
    package func askForReset(
        emailKey: String, tenant: UUID?, returnTo: String? = nil
    ) async throws -> Bool {
        let key = "\(tenant ?? .platform) \(emailKey)"
        let about = SHA256.authenticate(Array("reset \(key)".utf8), key: directoryKey)
        let now = clock()
        let rows = try await app.query(
            """
            WITH many AS (SELECT 1 FROM reset_asks WHERE next_at IS NOT NULL
                    OFFSET \(Self.waitingResetAsks - 1) LIMIT 1),
                recent AS (SELECT count(*) AS number FROM reset_asks
                    WHERE about = \(about) AND created_at > \(now.adding(seconds: -3600))),
                written AS (
                    INSERT INTO reset_asks (id, tenant_id, about, email_key, return_to, next_at,
                        created_at)
                    SELECT \(UUID.random()), \(tenant ?? .platform), \(about), \(emailKey),
                        \(returnTo), \(now), \(now)
                    WHERE NOT EXISTS (SELECT FROM many)
                        AND (SELECT number FROM recent) < \(Self.resetsAnHour))
            SELECT EXISTS (SELECT FROM many)
            """)
        return try !(rows.only { try $0.get(0, as: Bool.self) })
    }

    /// Leases waiting requests, the earliest first. No other replica takes these requests until the
    /// lease is over.
    package func takeResetAsks() async throws(PostgresError) -> [ResetAsk] {
        let now = clock()
        let rows = try await app.query(
            """
            UPDATE reset_asks SET next_at = \(now.adding(seconds: Self.resetAskLease))
            WHERE id = ANY (ARRAY(SELECT id FROM reset_asks WHERE next_at <= \(now)
                ORDER BY next_at, id LIMIT \(Self.resetAskBatch) FOR UPDATE SKIP LOCKED))
            RETURNING id, tenant_id, email_key, return_to
            """)
        return try rows.map { row throws(PostgresError) in
            ResetAsk(
                id: try row.get(0), tenant: try row.get(1), emailKey: try row.get(2),
                returnTo: try row.get(3, as: String?.self))
        }
    }

    /// Mails a reset link if the request's account may have one, and takes the request out of the
    /// queue.
    package func answer(_ ask: ResetAsk, publicURL: String) async throws {
        try await scope(ask.tenant).change(by: .system) { change in
            let ended = try await change.query(
                """
                UPDATE reset_asks SET email_key = NULL, next_at = NULL
                WHERE id = \(ask.id) AND next_at IS NOT NULL RETURNING 1
                """)
            guard !ended.isEmpty else { return }
            if ask.tenant == .platform {
                try await change.offerOperatorReset(ask.emailKey, publicURL)
            } else {
                try await change.offerUserReset(
                    ask.emailKey, returnTo: ask.returnTo, publicURL)
                try await change.offerOperatorReset(ask.emailKey, publicURL)
            }
        }
    }
}

/// The part of a mail's return address that identifies the mail: the locator of its tenant and 128
/// random bits. It gives no access: it only shows that a message sent to the address is about
/// this mail. It is lower-case hexadecimal, since mail systems may change the case.
package enum ReturnToken {
    private static let locatorSize = 6
    private static let randomSize = 16
    private static let mailbox = "bounce+"

    static func make(locator: String) -> String {
        Hex.encode(Array(locator.utf8) + RandomBytes.make(randomSize))
    }

    /// The address to which an undeliverable mail is returned.
    package static func address(_ token: String, at domain: DomainName) -> String {
        "\(mailbox)\(token)@\(domain.ascii)"
    }

    /// The token of a return address; nil for any other address.
    package static func token(of address: some Collection<UInt8>) -> String? {
        var text = ASCII.lower(address)[...]
        if text.first == UInt8(ascii: "<") { text = text.dropFirst() }
        guard text.starts(with: mailbox.utf8) else { return nil }
        let token = text.dropFirst(mailbox.utf8.count).prefix { hexDigit($0) != nil }
        guard token.count == 2 * (locatorSize + randomSize),
            text.dropFirst(mailbox.utf8.count + token.count).first == UInt8(ascii: "@")
        else { return nil }
        return String(decoding: token, as: UTF8.self)
    }

    /// The locator of a token's tenant.
    static func locator(_ token: String) -> String {
        String(decoding: Hex.decode(token)?.prefix(locatorSize) ?? [], as: UTF8.self)
    }
}
