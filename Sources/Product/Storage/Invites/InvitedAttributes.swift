import Domain
import JSON
import Postgres
import Text

/// The attributes that invites give. They are the invite's alone until it is accepted.
extension Change {
    /// 409 with the id of a pending invite that does not give these already.
    static func requireSame(_ attributes: AttributePair, as pending: InviteRow) throws {
        guard pending.attributes.merging(attributes) != pending.attributes else { return }
        throw StorageFailure.conflict(
            code: "conflict",
            detail: "The address has a pending invite with other attributes: change that one, or "
                + "send it again with `resend`.",
            id: pending.id)
    }

    /// Merges an invite's attributes into those of the user who accepted it. Since the invite was made,
    /// rules and the user's own values may have changed: what no longer fits is left out, as the
    /// invite's own changes say, and keeps no person out.
    func give(
        _ attributes: AttributePair, to user: UUID, _ inviteChanges: inout AuditChanges
    ) async throws {
        guard !attributes.isEmpty else { return }
        let row = try await lockUser(user)
        let schema = try await attributeSchema().schema
        let given = schema.fitting(attributes, on: row.attributes)
        try await set(row.attributes.merging(given), of: row, by: schema)
        let left =
            attributes.public.changedNames(to: given.public)
            + attributes.private.changedNames(to: given.private)
        if left.isEmpty { return }
        inviteChanges.add("attributes_left_out", nil, left.joined(separator: ", "))
    }

    private func set(
        _ attributes: AttributePair, of row: UserRow, by schema: AttributeSchema
    ) async throws {
        if attributes == row.attributes { return }
        try await query(
            """
            UPDATE users SET public_attributes = \(attributes.public.text),
                private_attributes = \(attributes.private.text), version = version + 1,
                updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(row.id)
            """)
        index(attributes, of: row.id, createdAt: row.createdAt, by: schema)
        var changes = AuditChanges()
        changes.add(row.attributes, attributes)
        try await audit(.userUpdated, row.target, changes)
    }
}

extension AttributeSchema {
    /// Those of some values that may be merged into a user's.
    fileprivate func fitting(_ values: AttributePair, on before: AttributePair) -> AttributePair {
        var given = values
        while !given.isEmpty {
            let after = before.merging(given)
            let faults = after.faults() + faults(after, after: before, isNew: false)
            if faults.isEmpty { return given }
            let fewer = given.without(faults)
            // Together they are too much.
            if fewer == given { return AttributePair() }
            given = fewer
        }
        return given
    }
}

extension AttributePair {
    /// With another's values merged into these by RFC 7396.
    func merging(_ other: AttributePair) -> AttributePair {
        var merged = self
        merged.public = `public`.merging(.object(other.public.members))
        merged.private = `private`.merging(.object(other.private.members))
        return merged
    }

    fileprivate func without(_ faults: [AttributeFault]) -> AttributePair {
        func kept(_ attributes: Attributes, _ place: AttributeRule.Audience) -> Attributes {
            Attributes(
                attributes.members.filter { member in
                    !faults.contains { fault in
                        sameBytes(fault.object, place.object)
                            && fault.name.map { sameBytes($0, member.name) } ?? false
                    }
                })
        }
        var pair = self
        pair.public = kept(`public`, .public)
        pair.private = kept(`private`, .private)
        return pair
    }
}
