import Domain
import Postgres
import Text

/// The ids that invites give. The row that an invite made has it at once, so that it is taken.
extension Change {
    /// 409 `conflict` with the id of a live user at another address who has the external id, or of
    /// the one at this address who has another. Before anything is written: in a list the other
    /// invites stand.
    func requireFits(_ externalID: String?, at emailKey: String) async throws {
        guard let externalID else { return }
        let rows = try await query(
            """
            SELECT id FROM users WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                AND email_key <> \(emailKey) AND status <> 'deleted'
            UNION ALL SELECT id FROM users WHERE tenant_id = \(tenant)
                AND email_key = \(emailKey) AND external_id <> \(externalID)
                AND status <> 'deleted'
            """)
        guard let other: UUID = try rows.first?.get(0) else { return }
        throw StorageFailure.conflict(
            code: "conflict",
            detail: "Another user has the external id, or the person has another.", id: other)
    }

    /// 409 with the id of a pending invite that gives another one; or, unless it is to be sent again,
    /// that does not give the attributes.
    static func requireSame(_ request: InviteRequest, as pending: InviteRow) throws {
        if !request.resend { try requireSame(request.attributes, as: pending) }
        guard let externalID = request.externalID,
            !sameBytes(externalID, pending.externalID ?? "")
        else { return }
        throw StorageFailure.conflict(
            code: "conflict", detail: "The address has a pending invite with another external id.",
            id: pending.id)
    }

    /// To a user who has none. 503 if another transaction took it since it was found free: a
    /// statement of the transaction has failed, and with it a whole list.
    func give(_ externalID: String?, to user: UUID, _ email: String) async throws {
        guard let externalID else { return }
        let rows = try await givingWay {
            try await query(
                """
                UPDATE users SET external_id = \(externalID), version = version + 1,
                    updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(user) AND external_id IS NULL
                RETURNING id
                """)
        }
        guard !rows.isEmpty else { return }
        var changes = AuditChanges()
        changes.add("external_id", nil, externalID)
        try await audit(.userUpdated, AuditTarget("user", user, email), changes)
    }

    /// To the user who accepted the invite, from the row that the invite had made. No other user's is
    /// taken away, and a user keeps an own one.
    func pass(
        _ externalID: String, from invited: UUID?, to user: UUID, _ email: String
    ) async throws {
        if let invited, invited != user {
            try await query(
                """
                UPDATE users SET external_id = NULL, version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(invited) AND external_id = \(externalID)
                    AND status = 'pending' AND source = 'invite'
                """)
        }
        let taken = try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                AND status <> 'deleted'
            """)
        if taken.isEmpty { try await give(externalID, to: user, email) }
    }

    private func givingWay(_ update: () async throws -> Rows) async throws -> Rows {
        do {
            return try await update()
        } catch let error as PostgresError where error.isUniqueViolation {
            throw StorageFailure.unavailable
        }
    }
}
