import Domain
import Postgres
import Text

/// An invite as stored, with only a hash of its token.
package struct InviteRow: ListedRow {
    package var id: UUID
    package var tenantID: UUID
    package var email: String
    /// The normalised address. Each address has at most one pending invite.
    package var emailKey: String
    package var role: UserRole
    /// The text that the inviter adds to the mail; `nil` if there is none.
    package var message: String?
    /// How the token is delivered: `mail` or `link`.
    package var delivery: String
    /// The stored status: `pending`, `accepted` or `revoked`. Whether a pending invite has expired
    /// follows from the time.
    var stored: String
    /// The pending user row that was created for the invite; `nil` if there is none.
    package var userID: UUID?
    /// The type of the inviting actor, such as `operator` or `key`.
    package var inviterType: String
    /// The id of the inviting actor, as text.
    package var inviterID: String
    /// The inviting actor's name at the time of the invite.
    package var inviterName: String
    package var sentCount: Int
    /// The end of the invite, exclusive.
    package var expiresAt: Timestamp
    package var acceptedAt: Timestamp?
    /// The user who accepted the invite; `nil` if no one has.
    package var acceptedUserID: UUID?
    /// The version, which increases with each change; the ETag is made from it.
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// The external id for the user who accepts the invite; `nil` if there is none.
    package var externalID: String?
    /// The address to which the acceptance page redirects at the end; `nil` for none.
    package var returnTo: String?
    /// The id of the mail whose delivery status is stored; `nil` if there is no mail, or if its
    /// delivery status is not stored.
    package var mailID: UUID?
    /// The raw value of an `Invite.DeliveryStatus`; `nil` for an invite by link.
    package var deliveryStatus: String?
    /// The mail server's text about a refusal, a bounce or a delay; `nil` if there is none.
    package var deliveryDetail: String?
    /// The attributes for the user who accepts the invite. They are merged into the user's own.
    package var attributes: AttributePair
    /// Whether the private attributes are hidden from the caller.
    package var hidesPrivate = false

    static let columns: SQL =
        """
        id, tenant_id, email, email_key, role, message, delivery, status, user_id, inviter_type,
        inviter_id, inviter_name, sent_count, expires_at, accepted_at, accepted_user_id, version,
        created_at, updated_at, external_id, return_to, mail_id, delivery_status, delivery_detail,
        public_attributes, private_attributes
        """

    init(_ row: Row) throws(PostgresError) {
        let (shown, kept): (String, String)
        (
            id, tenantID, email, emailKey, role, message, delivery, stored, userID, inviterType,
            inviterID, inviterName, sentCount, expiresAt, acceptedAt, acceptedUserID, version,
            createdAt, updatedAt, externalID, returnTo, mailID, deliveryStatus, deliveryDetail,
            shown, kept
        ) = try row.columns()
        attributes = AttributePair(public: shown, private: kept)
    }

    /// Returns the status at a time. At `expiresAt` itself the invite has expired.
    package func status(at now: Timestamp) -> Invite.Status {
        switch stored {
        case "accepted": .accepted
        case "revoked": .revoked
        default: now < expiresAt ? .pending : .expired
        }
    }

    /// The row's value in a cursor: the email key, or `created_at` in microseconds since 1970.
    package func value(of sort: ListQuery.Sort) -> String {
        sort == .email ? emailKey : "\(createdAt.microseconds)"
    }

    var target: AuditTarget { AuditTarget("invite", id, email) }
}

/// The filters of a list of invites.
package struct InviteFilter: Sendable {
    /// The status now; whether an invite has expired follows from the time.
    var status: Invite.Status?
    /// A part of the address. A text of fewer than 3 characters must be the beginning of the
    /// address. The text is looked up before the other filters apply.
    var text: String?
    /// The email key of the whole address.
    package var emailKey: String?
    /// Selects the invites whose last mail has one of these delivery statuses; `nil` selects all
    /// invites.
    package var deliveries: [Invite.DeliveryStatus]?
    /// The external id for the user who accepts the invite.
    package var externalID: String?
    /// The id of the job that created the invites.
    package var job: UUID?

    /// Creates a filter in which all further conditions are unset.
    package init(status: Invite.Status? = nil, text: String? = nil) {
        self.status = status
        self.text = text
    }

    fileprivate var isWide: Bool {
        deliveries == nil && externalID == nil && job == nil && status == nil && emailKey == nil
    }

    /// The conditions of the queries that together find the rows: one for each delivery status in
    /// `deliveries`, because each status has an index by age. Empty if `deliveries` is nil or
    /// empty.
    fileprivate var ways: [SQL] {
        (deliveries ?? []).map { " AND delivery_status = '\(raw: $0.rawValue)'" }
    }

    fileprivate func condition(_ now: Timestamp, in tenant: UUID) -> SQL {
        var sql: SQL = ""
        // The statuses are literals, so that the planner knows which of them are rare.
        if let deliveries {
            let names = deliveries.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            sql += deliveries.isEmpty ? " AND false" : " AND delivery_status IN (\(raw: names))"
        }
        if let externalID { sql += " AND external_id = \(externalID)" }
        if let job {
            sql += """
                 AND id IN (SELECT target_id FROM job_rows
                WHERE tenant_id = \(tenant) AND job_id = \(job) AND target_type = 'invite')
                """
        }
        switch status {
        case .pending: sql += " AND status = 'pending' AND expires_at > \(now)"
        case .expired: sql += " AND status = 'pending' AND expires_at <= \(now)"
        case .accepted: sql += " AND status = 'accepted'"
        case .revoked: sql += " AND status = 'revoked'"
        case nil: break
        }
        if let emailKey { sql += " AND email_key = \(emailKey)" }
        return sql
    }
}

extension TenantScope {
    /// Returns the invite; `nil` if the tenant has no such invite.
    package func invite(_ id: UUID) async throws(PostgresError) -> InviteRow? {
        let rows = try await read(
            "SELECT \(InviteRow.columns) FROM invites WHERE tenant_id = \(tenant) AND id = \(id)")
        return try rows.first.map(InviteRow.init)
    }

    /// Returns one page of invites. If many rows match the filter's text, `walking` overrides how
    /// many rows are scanned.
    package func invites(
        _ list: ListQuery, _ filter: InviteFilter, walking most: Int? = nil
    ) async throws(PostgresError) -> ListPage<InviteRow> {
        try await page(
            of: inviteList(filter), try await search(filter.text, in: .invites), list,
            walking: most
        ) { rows throws(PostgresError) in try rows.all(InviteRow.init) }
    }

    func inviteList(_ filter: InviteFilter) -> SearchedList {
        SearchedList(
            .invites, of: tenant, in: "email_key", of: InviteRow.columns,
            where: "tenant_id = \(tenant)\(filter.condition(database.clock(), in: tenant))",
            isWide: filter.isWide, ways: filter.ways)
    }
}

extension Database {
    /// Returns the tenant to which a token belongs; `nil` if there is none, or if the token is
    /// malformed.
    package func tenant(ofToken token: String) async throws(PostgresError) -> UUID? {
        guard let locator = TenantToken.locator(token) else { return nil }
        let rows = try await app.read("SELECT directory_tenant_by_locator(\(locator))")
        return try rows.first?.get(0, as: UUID?.self)
    }

    /// Returns the pending invite of a token, with its tenant, for the acceptance page; `nil` if
    /// the token is not valid now. Does not use up the token.
    package func invitePreview(_ token: String) async throws -> (InviteRow, TenantRow)? {
        guard let found = try await offeredInvite(token), found.tenant.status == .active,
            found.invite.status(at: clock()) == .pending
        else { return nil }
        return (found.invite, found.tenant)
    }
}
