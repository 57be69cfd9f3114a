import Cryptography
import Domain
import Postgres
import Text

/// A request to invite an address; its input is checked.
package struct InviteRequest: Sendable {
    /// The address to invite. Two addresses with the same key are the same.
    package var email: EmailAddress
    /// The role. If it is nil, a new invite gets `defaultRole`, and a pending invite keeps its role.
    var role: UserRole?
    /// The role of a new invite if `role` is nil; `nil` for the policy's default.
    package var defaultRole: UserRole?
    /// The end of the invite, exclusive; `nil` for `Invite.defaultLifetime` from now.
    var expiresAt: Timestamp?
    /// The inviter's text for the mail. If it is nil, a new invite has no text, and an invite that
    /// is sent again keeps its text.
    var message: String?
    /// How the token is delivered. For `mail` the mail limits are checked before anything is
    /// written.
    package var delivery: Invite.Delivery
    /// Whether a pending invite is sent again with a new token. If false, the pending invite is
    /// returned unchanged.
    var resend: Bool
    /// Whether a pending invite gets `role` instead of its own role. It then keeps its token.
    package var rolePrevails = false
    /// The external id for the user who accepts the invite; `nil` for none.
    package var externalID: String?
    /// The attributes for the user who accepts the invite. With `resend` they are merged into those
    /// of a pending invite.
    package var attributes = AttributePair()
    /// The address to which the acceptance page redirects at the end; `nil` for none. With nil an
    /// invite that is sent again keeps its address.
    package var returnTo: String?
    /// The widest role that the inviter may give; `nil` if the inviter may give none.
    var widest: UserRole?
    /// The rights that the inviter lacks for giving each role; they are named in a refusal.
    package var lacks: [UserRole: [String]] = [:]
    /// The latest permitted end of the invite, which is the expiry of the inviting key; `nil` for
    /// no limit.
    package var latest: Timestamp?
    /// What the policy's quotas still allow. They are counted once for a whole list of invites; if
    /// nil, they are counted for this request.
    package var quotas: InviteQuotas?
    /// How many more mails the tenant may send, from `Change.mailsLeft`.
    package var mailsLeft = MailLimit.ofTenant

    /// If `widest` is nil, every role is refused.
    package init(
        email: EmailAddress, role: UserRole? = nil, expiresAt: Timestamp? = nil,
        message: String? = nil, delivery: Invite.Delivery = .link, resend: Bool = false,
        widest: UserRole?
    ) {
        self.email = email
        self.role = role
        self.expiresAt = expiresAt
        self.message = message
        self.delivery = delivery
        self.resend = resend
        self.widest = widest
    }
}

/// The result of a request for an invite.
package struct InviteResult: Sendable {
    /// Whether the invite is new, was pending and keeps its token (`existing`), or was sent again
    /// with a new token.
    package enum Outcome: String, Sendable { case created, existing, resent }

    package var outcome: Outcome
    package var invite: InviteRow
    /// The token, which cannot be shown again; `nil` for an existing invite.
    package var token: String?

    package init(outcome: Outcome, invite: InviteRow, token: String? = nil) {
        self.outcome = outcome
        self.invite = invite
        self.token = token
    }
}

/// The reasons for which an invite is refused, other than a conflict.
package enum InviteRefusal: Error, Sendable, Equatable {
    /// The address is outside the policy's `allowed_domains`.
    case outsideDomains
    /// The named member of the policy blocks the address.
    case blocked(by: String)
    /// The named quota of the policy is used up; it has room again after `seconds`.
    case quota(String, limit: Int, seconds: Int64)
    /// The inviter may not give the role. `lacks` lists the rights that the inviter lacks for
    /// giving it.
    case roleTooWide(UserRole, lacks: [String])
}

extension Change {
    /// Creates an invite and the pending user row for it, or finds the address's pending invite.
    /// All refusals happen before anything is written, so that a list of invites can go on after a
    /// refused invite. Throws `AttributeFaults` if the attributes are not allowed.
    package func invite(
        _ request: InviteRequest
    ) async throws -> InviteResult {
        let policy = try await policy().policy
        let role = request.role ?? request.defaultRole ?? policy.givenRole
        guard let widest = request.widest, role <= widest else {
            throw InviteRefusal.roleTooWide(role, lacks: request.lacks[role] ?? [])
        }
        try Self.requireTaken(request.email, by: policy)
        try await checkMail(of: request, policy)
        try await requireFits(request.externalID, at: request.email.key)
        _ = try await check(request.attributes, after: AttributePair())
        let quotas = if let asked = request.quotas { asked } else { try await inviteQuotas(policy) }
        try await requireRoom(quotas, at: request.email.key)
        let user = try await invitedUser(request.email, role)
        if let pending = try await lockPending(request.email.key) {
            if pending.status(at: now) == .pending {
                try Self.requireSame(request, as: pending)
                let standsAsAsked = request.role ?? pending.role == pending.role
                guard request.resend || request.rolePrevails && !standsAsAsked else {
                    return try Self.standing(pending, standsAsAsked)
                }
                guard pending.role <= widest else {
                    throw InviteRefusal.roleTooWide(
                        pending.role, lacks: request.lacks[pending.role] ?? [])
                }
                guard !request.resend else { return try await renew(pending, request) }
                return try await give(role, to: pending, until: request.latest)
            }
            _ = try await markRevoked(pending)
        }
        try await give(request.externalID, to: user, request.email.original)
        let token = TenantToken.make(locator: try await locator())
        let rows = try await query(
            """
            INSERT INTO invites (tenant_id, id, email, email_key, role, message, delivery,
                token_hash, user_id, inviter_type, inviter_id, inviter_name, external,
                external_id, return_to, mail_id, delivery_status, public_attributes,
                private_attributes, expires_at, created_at, updated_at)
            VALUES (\(tenant), \(UUID.random()), \(request.email.original), \(request.email.key),
                \(role.rawValue), \(request.message), \(request.delivery.rawValue),
                \(TenantToken.hash(token)), \(user), \(actor.type), \(actor.id), \(actor.name),
                \(!policy.allows(domain: request.email.domain.ascii)), \(request.externalID), \(request.returnTo),
                \(mailToBe(request.delivery)), \(request.attributes.public.text),
                \(request.attributes.private.text),
                \(end(request.expiresAt, request.latest)),
                \(now), \(now))
            RETURNING \(InviteRow.columns)
            """)
        let invite = try rows.only(InviteRow.init)
        var changes = AuditChanges()
        changes.add("role", nil, role.rawValue)
        changes.add("expires_at", nil, invite.expiresAt.description)
        changes.add("external_id", nil, invite.externalID)
        changes.add(AttributePair(), invite.attributes)
        try await audit(.inviteCreated, invite.target, changes)
        return InviteResult(outcome: .created, invite: invite, token: token)
    }

    /// Changes the role of a pending invite. If the invite would end after `latest`, it now ends at
    /// `latest`.
    private func give(
        _ role: UserRole, to pending: InviteRow, until latest: Timestamp?
    ) async throws -> InviteResult {
        let next = InviteChange(
            role: role, expiresAt: earlier(pending.expiresAt, latest), message: pending.message,
            attributes: pending.attributes)
        return InviteResult(
            outcome: .existing, invite: try await editInvite(pending, to: next))
    }

    private func end(_ asked: Timestamp?, _ latest: Timestamp?) -> Timestamp {
        earlier(asked ?? now.adding(seconds: Invite.defaultLifetime), latest)
    }

    /// Throws if the policy accepts no invite for the address.
    private static func requireTaken(_ email: EmailAddress, by policy: TenantPolicy) throws {
        guard policy.signUp != .closed else {
            throw StorageFailure.conflict(
                code: "sign_up_closed",
                detail: "The tenant's policy has `sign_up` set to `closed`.", id: nil)
        }
        let domain = email.domain.ascii
        guard policy.allows(domain: domain) || policy.externalInvites else {
            throw InviteRefusal.outsideDomains
        }
        if let block = policy.block(ofKey: email.key, domain: domain) {
            throw InviteRefusal.blocked(by: block.rawValue)
        }
    }

    /// Checks the mail limits if this request sends a mail. An existing invite is mailed only with
    /// `resend`.
    private func checkMail(
        of request: InviteRequest, _ policy: TenantPolicy
    ) async throws {
        guard request.delivery == .mail else { return }
        let rows = try await query(
            """
            SELECT id FROM invites WHERE tenant_id = \(tenant) AND email_key = \(request.email.key)
                AND \(SQL.unindexed("status")) = 'pending' AND expires_at > \(now)
            """)
        let pending: UUID? = try rows.first?.get(0)
        if pending != nil, !request.resend { return }
        try await requireRecipient(request.email.original, policy)
        try checkMail(left: request.mailsLeft)
    }

    /// Returns the invite, locked. The live user at its address is locked first: all transactions
    /// use this order.
    package func lockInvite(_ id: UUID) async throws -> InviteRow {
        _ = try await policy()
        let address = try await query(
            "SELECT email_key FROM invites WHERE tenant_id = \(tenant) AND id = \(id)")
        guard let row = address.first else { throw StorageFailure.notFound("invite") }
        let key: String = try row.get(0)
        _ = try await lockLiveUser(key)
        return try await query(
            """
            SELECT \(InviteRow.columns) FROM invites
            WHERE tenant_id = \(tenant) AND id = \(id) FOR UPDATE
            """
        ).only(InviteRow.init)
    }

    /// Gives a locked invite a new token and sends it; the old token becomes invalid. An expired
    /// invite becomes pending again. `latest` is its latest permitted end. Throws
    /// `MailLimitReached` if too many mails were sent.
    package func resend(
        _ invite: InviteRow, _ delivery: Invite.Delivery, until latest: Timestamp? = nil
    ) async throws -> InviteResult {
        let policy = try await policy().policy
        guard policy.signUp != .closed else {
            throw StorageFailure.conflict(
                code: "sign_up_closed",
                detail: "The tenant's policy has `sign_up` set to `closed`.", id: nil)
        }
        switch invite.status(at: now) {
        case .accepted:
            throw StorageFailure.conflict(
                code: "invite_used", detail: "The invite was accepted.", id: invite.acceptedUserID)
        case .revoked:
            throw StorageFailure.conflict(
                code: "invite_revoked", detail: "The invite was revoked.", id: nil)
        case .pending, .expired: break
        }
        if delivery == .mail {
            try await requireRecipient(invite.email, policy)
            try checkMail(left: try await mailsLeft(.invite))
        }
        return try await renew(invite, delivery, until: end(nil, latest))
    }

    /// Returns the pending invite unchanged. Throws 409 with the invite's id if the request has
    /// another role.
    private static func standing(
        _ pending: InviteRow, _ standsAsAsked: Bool
    ) throws -> InviteResult {
        guard standsAsAsked else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "The address has a pending invite as \(pending.role.rawValue): change that "
                    + "one, or send it again with `resend` and the new role.",
                id: pending.id)
        }
        return InviteResult(outcome: .existing, invite: pending)
    }

    /// Revokes a locked invite. Deletes the user row that the invite created, unless that user has
    /// signed in or has a sign-in. Revoking again changes nothing. Throws 409 if the invite was
    /// accepted.
    package func revoke(_ invite: InviteRow) async throws -> InviteRow {
        switch invite.status(at: now) {
        case .revoked: return try await revokeAgain(invite)
        case .accepted:
            throw StorageFailure.conflict(
                code: "invite_used", detail: "The invite was accepted.", id: invite.acceptedUserID)
        case .pending, .expired: break
        }
        let revoked = try await markRevoked(invite)
        try await removeUnusedRow(invite.emailKey)
        return revoked
    }

    private func lockPending(_ emailKey: String) async throws(PostgresError) -> InviteRow? {
        let rows = try await query(
            """
            SELECT \(InviteRow.columns) FROM invites
            WHERE tenant_id = \(tenant) AND email_key = \(emailKey)
                AND \(SQL.unindexed("status")) = 'pending'
            FOR UPDATE
            """)
        return try rows.first.map(InviteRow.init)
    }

    /// Sends an invite again. The role, expiry and text of `request` replace those of the invite,
    /// if they are not nil; the attributes are merged.
    private func renew(_ invite: InviteRow, _ request: InviteRequest) async throws -> InviteResult {
        let attributes = invite.attributes.merging(request.attributes)
        _ = try await check(attributes, after: invite.attributes)
        let role = request.role ?? invite.role
        if role != invite.role { try await giveRowOfInvite(invite.emailKey, role) }
        return try await renew(
            invite, request.delivery, until: end(request.expiresAt, request.latest), role: role,
            message: request.message, returnTo: request.returnTo, attributes: attributes)
    }

    private func renew(
        _ invite: InviteRow, _ delivery: Invite.Delivery, until: Timestamp,
        role: UserRole? = nil, message: String? = nil, returnTo: String? = nil,
        attributes: AttributePair? = nil
    ) async throws -> InviteResult {
        let attributes = attributes ?? invite.attributes
        let token = TenantToken.make(locator: try await locator())
        let rows = try await query(
            """
            UPDATE invites SET token_hash = \(TenantToken.hash(token)),
                delivery = \(delivery.rawValue), delivery_detail = NULL,
                (mail_id, delivery_status) = (\(mailToBe(delivery))),
                sent_count = sent_count + 1, sent_at = \(now), version = version + 1, updated_at = \(now),
                return_to = coalesce(\(returnTo), return_to),
                public_attributes = \(attributes.public.text),
                private_attributes = \(attributes.private.text),
                message = coalesce(\(message), message), \(roleGiven(role ?? invite.role)),
                expires_at = \(until)
            WHERE tenant_id = \(tenant) AND id = \(invite.id)
                AND \(SQL.unindexed("status")) = 'pending'
            RETURNING \(InviteRow.columns)
            """)
        let renewed = try rows.only(InviteRow.init)
        try await dropMail(.invite, about: invite.id)
        try await auditRenewal(of: invite, as: renewed)
        return InviteResult(outcome: .resent, invite: renewed, token: token)
    }

    private func auditRenewal(of invite: InviteRow, as renewed: InviteRow) async throws {
        var changes = AuditChanges()
        changes.add("role", invite.role.rawValue, renewed.role.rawValue)
        changes.add("expires_at", invite.expiresAt.description, renewed.expiresAt.description)
        changes.add("delivery", invite.delivery, renewed.delivery)
        changes.add(invite.attributes, renewed.attributes)
        try await audit(.inviteResent, invite.target, changes)
    }

    /// Returns the SQL values of `mail_id` and `delivery_status` for an invite that will be mailed,
    /// or NULL for one by link.
    private func mailToBe(_ delivery: Invite.Delivery) -> SQL {
        delivery == .mail ? "\(UUID.random()), 'queued'" : "NULL, NULL"
    }

    /// The SQL assignments that revoke an invite. A mail that is still queued will not be sent.
    static let revoked: SQL =
        "status = 'revoked', delivery_status = nullif(delivery_status, 'queued')"

    private func markRevoked(_ invite: InviteRow) async throws -> InviteRow {
        let rows = try await query(
            """
            UPDATE invites SET \(Self.revoked), version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(invite.id)
                AND \(SQL.unindexed("status")) = 'pending'
            RETURNING \(InviteRow.columns)
            """)
        try await dropMail(.invite, about: invite.id)
        var changes = AuditChanges()
        changes.add("status", invite.status(at: now).rawValue, "revoked")
        try await audit(.inviteRevoked, invite.target, changes)
        return try rows.only(InviteRow.init)
    }

    /// If a merge revoked the invite, marks it as changed, so that it stays revoked when the merge
    /// is undone.
    private func revokeAgain(_ invite: InviteRow) async throws -> InviteRow {
        let rows = try await query(
            """
            UPDATE invites v SET version = v.version + 1, updated_at = \(now) FROM user_merges m
            WHERE v.tenant_id = \(tenant) AND v.id = \(invite.id) AND v.status = 'revoked'
                AND m.tenant_id = \(tenant) AND m.status = 'done'
                AND v.id = ANY (m.revoked_invites) AND v.updated_at = m.created_at
            RETURNING v.id
            """)
        if rows.isEmpty { return invite }
        try await audit(.inviteRevoked, invite.target)
        return try await lockInvite(invite.id)
    }

    /// Returns the locator with which the tenant's tokens begin.
    func locator() async throws -> String {
        try await query("SELECT locator FROM tenants WHERE id = \(tenant)").only {
            (row) throws(PostgresError) in try row.get(0)
        }
    }
}

/// How many more invites the quotas of a policy allow for one tenant and one inviter.
package struct InviteQuotas: Sendable {
    fileprivate var policy: TenantPolicy
    /// How many more invites of the tenant may be pending (`pendingLeft`), and how many more this
    /// inviter may make within the hour (`hourlyLeft`).
    fileprivate var pendingLeft: Int
    fileprivate var hourlyLeft: Int
    /// Seconds until the inviter's quota has room again.
    fileprivate var hourlySeconds: Int64

    /// Counts one invite that this transaction has just made.
    package mutating func use() {
        pendingLeft -= 1
        hourlyLeft -= 1
    }
}

/// Quotas of invites. They limit how much one tenant, and one inviter in it, can use the service's
/// own mail address. The limits of `MailLimit` apply in addition.
extension Change {
    private static let hour: Int64 = 3600
    private static let day: Int64 = 86_400
    /// Seconds after which to try again, if no exact time is known.
    private static let pendingSeconds: Int64 = 3600

    /// Returns what the quotas of the policy in force still allow. For a list of invites it is
    /// called only once.
    package func inviteQuotas() async throws -> InviteQuotas {
        try await inviteQuotas(policy().policy)
    }

    func inviteQuotas(_ policy: TenantPolicy) async throws -> InviteQuotas {
        let (pending, made) = (policy.invitesPendingMax, policy.invitesPerInviterHour)
        let since = now.adding(seconds: -Self.hour)
        let own: SQL =
            """
            FROM invites WHERE tenant_id = \(tenant) AND inviter_type = \(actor.type)
                AND inviter_id = \(actor.id) AND created_at > \(since)
            """
        let row = try await query(
            """
            SELECT (SELECT count(*) FROM (SELECT 1 FROM invites WHERE tenant_id = \(tenant)
                    AND status = 'pending' AND expires_at > \(now) LIMIT \(pending)) AS pending),
                (SELECT count(*) FROM (SELECT 1 \(own) LIMIT \(made)) AS made),
                (SELECT min(created_at) \(own))
            """
        ).first
        let first: Timestamp? = try row?.get(2, as: Timestamp?.self)
        return InviteQuotas(
            policy: policy, pendingLeft: pending - (try row?.get(0) ?? 0),
            hourlyLeft: made - (try row?.get(1) ?? 0),
            hourlySeconds: first.map { left(of: Self.hour, since: $0) } ?? Self.hour)
    }

    /// Throws `InviteRefusal.quota` if another pending invite, for this address, would exceed a
    /// quota. Nothing is thrown if the address already has a pending invite, since the number of
    /// pending invites does not grow then.
    func requireRoom(_ quotas: InviteQuotas, at emailKey: String) async throws {
        guard quotas.pendingLeft <= 0 || quotas.hourlyLeft <= 0 else { return }
        let own = try await query(
            """
            SELECT 1 FROM invites WHERE tenant_id = \(tenant) AND email_key = \(emailKey)
                AND \(SQL.unindexed("status")) = 'pending' AND expires_at > \(now)
            """)
        guard own.isEmpty else { return }
        let isHourly = quotas.hourlyLeft <= 0
        throw InviteRefusal.quota(
            isHourly ? "invites_per_inviter_hour" : "invites_pending_max",
            limit: isHourly
                ? quotas.policy.invitesPerInviterHour : quotas.policy.invitesPendingMax,
            seconds: isHourly ? quotas.hourlySeconds : Self.pendingSeconds)
    }

    /// Throws `InviteRefusal.quota` if this tenant has already mailed the address as many invites
    /// today as the policy allows.
    func requireRecipient(
        _ address: String, _ policy: TenantPolicy
    ) async throws {
        let most = policy.invitesPerRecipientDay
        let rows = try await query(
            """
            SELECT created_at FROM mail WHERE tenant_id = \(tenant)
                AND kind = \(OutgoingMail.Kind.invite.rawValue)
                AND recipient = \(database.recipient(address))
                AND created_at > \(now.adding(seconds: -Self.day))
            ORDER BY created_at DESC OFFSET \(most - 1) LIMIT 1
            """)
        guard let first: Timestamp = try rows.first?.get(0) else { return }
        throw InviteRefusal.quota(
            "invites_per_recipient_day", limit: most, seconds: left(of: Self.day, since: first))
    }

    private func left(of span: Int64, since first: Timestamp) -> Int64 {
        let end = first.adding(seconds: span)
        return max(1, (end.microseconds - now.microseconds + 999_999) / 1_000_000)
    }
}
