import Cryptography
import Domain
import Postgres
import Text

/// Why a token does not let a person in. The codes are those of the answers.
package struct AcceptanceRefusal: Error, Sendable, Equatable {
    package var code: String
    package var detail: String
}

extension Database {
    /// The policy that a password for this token has to satisfy. Throws `AcceptanceRefusal` for a
    /// token that is dead already, so that no password is hashed for it.
    package func policy(
        forInviteToken token: String
    ) async throws -> (tenant: UUID, policy: TenantPolicy) {
        guard let id = try await tenant(ofInviteToken: token) else {
            throw AcceptanceRefusal.unknown
        }
        let rows = try await scope(id).read(
            """
            SELECT \(InviteRow.columns) FROM invites
            WHERE tenant_id = \(id) AND token_hash = \(InviteToken.hash(token))
            """)
        guard let row = rows.first else { throw AcceptanceRefusal.unknown }
        try AcceptanceRefusal.check(try InviteRow(row).status(at: clock()))
        return (id, try await scope(id).policy().policy)
    }

    /// Uses the invite up: one UPDATE decides who was first. The person becomes active with the
    /// invite's role and this password (a PHC string); the token with it proves the address.
    package func acceptInvite(
        _ token: String, in tenant: UUID, passwordHash: String, name: String?,
        requestID: String, ip: String?
    ) async throws -> (ProvisionedUser, TenantRow) {
        let hash = InviteToken.hash(token)
        let person = Actor(type: "user", id: "", name: "", requestID: requestID, ip: ip)
        return try await scope(tenant).change(by: person) { change in
            let (row, policy) = try await change.openTenant()
            let email = try await change.address(ofInvite: hash)
            let user = try await change.lockLiveUser(email.key)
            guard let found = try await change.invite(where: "token_hash = \(hash)", row: nil)
            else { throw AcceptanceRefusal.unknown }
            try AcceptanceRefusal.check(found.invite.status(at: change.now))
            try AcceptanceRefusal.check(policy, found.invite, user?.status)
            let id: UUID
            if let user {
                id = user.id
            } else {
                id = try await change.invitedUser(email, .member, self)
            }
            let named = Change(
                tenant: tenant,
                actor: Actor(
                    type: "user", id: id.description, name: name ?? email.original,
                    requestID: requestID, ip: ip),
                now: change.now, transaction: change.transaction, notices: change.notices)
            let role = found.givenRole
            try await named.consume(hash, by: id, role: role, asked: found.invite.role)
            try await named.wipeUnproved(id, database: self)
            try await named.activate(id, email.key, role, passwordHash, name)
            guard let accepted = try await named.provisionedUser(id) else {
                throw StorageFailure.notFound("user")
            }
            return (accepted, row)
        }
    }
}

extension AcceptanceRefusal {
    static let unknown = Self(code: "invite_unknown", detail: "The link is not known.")

    fileprivate static func check(_ status: Invite.Status) throws {
        switch status {
        case .pending: return
        case .accepted:
            throw Self(code: "invite_used", detail: "The invite was used already; sign in instead.")
        case .revoked:
            throw Self(code: "invite_revoked", detail: "The invite was taken back.")
        case .expired:
            throw Self(code: "invite_expired", detail: "The invite is over; ask for a new one.")
        }
    }

    /// What the rules say of a live invite: closed tenants, domains, and who is in already.
    fileprivate static func check(
        _ policy: TenantPolicy, _ invite: Invite, _ status: String?
    ) throws {
        let isOutside = !policy.externalInvites && !policy.allows(domain: invite.email.domain)
        if policy.signUp == .closed || isOutside {
            throw Self(code: "not_invited", detail: "The tenant does not take this address now.")
        }
        if status == "suspended" {
            throw Self(code: "user_suspended", detail: "The account is suspended.")
        }
        if status == "active" {
            throw Self(
                code: "identity_link_required",
                detail: "The account is active already; sign in and add the password there.")
        }
    }
}

extension InviteFacts {
    /// The role that the inviter may still give; a person who no longer may gives `member`.
    fileprivate var givenRole: UserRole {
        guard case .person(let bound) = inviter else { return invite.role }
        return bound.map { invite.role <= $0 } ?? false ? invite.role : .member
    }
}

extension Change {
    fileprivate func openTenant() async throws -> (TenantRow, TenantPolicy) {
        let policy = try await policy().policy
        let row = try await query("SELECT \(TenantRow.columns) FROM tenants WHERE id = \(tenant)")
            .only(TenantRow.init)
        guard row.status == "active" else {
            throw AcceptanceRefusal(
                code: "tenant_\(row.status)", detail: "The tenant is \(row.status).")
        }
        return (row, policy)
    }

    fileprivate func address(ofInvite hash: [UInt8]) async throws -> EmailAddress {
        let rows = try await query(
            "SELECT email FROM invites WHERE tenant_id = \(tenant) AND token_hash = \(hash)")
        guard let row = rows.first else { throw AcceptanceRefusal.unknown }
        return try EmailAddress(try row.get(0, as: String.self))
    }

    fileprivate func consume(
        _ hash: [UInt8], by user: UUID, role: UserRole, asked: UserRole
    ) async throws {
        let rows = try await query(
            """
            UPDATE invites SET status = 'accepted', accepted_at = \(now),
                accepted_user_id = \(user), version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND token_hash = \(hash) AND status = 'pending'
                AND expires_at > \(now)
            RETURNING \(InviteRow.columns)
            """)
        guard let row = rows.first else {
            try AcceptanceRefusal.check(.accepted)
            return
        }
        var changes = AuditChanges()
        changes.add("status", "pending", "accepted")
        changes.add("role", asked.rawValue, role.rawValue)
        try await audit("invite.accepted", try InviteRow(row).target, changes)
    }

    /// What somebody put on the row before the address was proved dies with its proof.
    fileprivate func wipeUnproved(_ user: UUID, database: Database) async throws {
        let gone = try await query(
            """
            DELETE FROM identities
            WHERE tenant_id = \(tenant) AND user_id = \(user) AND NOT email_verified
            RETURNING provider, issuer, subject
            """)
        for row in gone {
            let key = database.personKey(
                provider: try row.get(0), issuer: try row.get(1), subject: try row.get(2))
            try await query("SELECT directory_remove_person(\(key))")
        }
    }

    fileprivate func activate(
        _ user: UUID, _ emailKey: String, _ role: UserRole, _ passwordHash: String, _ name: String?
    ) async throws {
        let rows = try await query(
            """
            UPDATE users SET status = 'active', role = \(role.rawValue),
                password_hash = \(passwordHash), name = coalesce(\(name), name),
                email_verified_at = coalesce(email_verified_at, \(now)),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user) AND status = 'pending'
            RETURNING name, email, created_at
            """)
        guard let row = rows.first else { throw StorageFailure.unavailable }
        let content = emailKey + " " + (try row.get(0, as: String?.self) ?? "").lowercased()
        let since: Timestamp = try row.get(2)
        try await query("SELECT user_search_put(\(user), \(content), \(since))")
        var changes = AuditChanges()
        changes.add("status", "pending", "active")
        try await audit("user.activated", AuditTarget("user", user, try row.get(1)), changes)
    }
}
