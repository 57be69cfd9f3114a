import Domain
import Postgres
import Text

extension Change {
    func importFacts(
        _ rows: [StagedRow], by rules: ImportRules, in database: Database
    ) async throws -> ImportFacts {
        let users = rows.compactMap { try? $0.content.get() }
        var facts = ImportFacts()
        guard !users.isEmpty else { return facts }
        facts.first = try await firstRows(of: rules.id, users.flatMap { $0.keys + $0.verifiedKeys })
        let addresses = users.map(\.email.key)
        try await readAddresses(addresses, into: &facts)
        let ids = users.compactMap(\.uuid)
        try await readIDs(ids, into: &facts)
        if rules.keepsFileIDs { try await readFreeIDs(ids, into: &facts, database) }
        try await readExternalIDs(users.compactMap { $0.externalID ?? $0.id }, into: &facts)
        let identities = users.flatMap(\.identities)
        if !identities.isEmpty { try await readIdentities(identities, into: &facts) }
        try await readTombstones(addresses, identities, into: &facts, database)
        return facts
    }

    /// Rows of dead invites count as absent, as wherever an address is needed. Here and below each key
    /// is a probe of an index of its own, by LATERAL and LIMIT: by the planner's figures, which know
    /// nothing of the rows that an import just wrote, reading the whole tenant looks cheaper. Of one
    /// address there is at most one live user, and any deleted one is as good as another.
    private func readAddresses(_ keys: [String], into facts: inout ImportFacts) async throws {
        let rows = try await query(
            """
            SELECT u.email_key, u.id, u.role, u.status, u.status = 'pending'
                AND u.source = 'invite' AND u.last_sign_in_at IS NULL
            FROM unnest(\(keys)::text[]) AS w (key), LATERAL (
                SELECT * FROM users WHERE tenant_id = \(tenant) AND email_key = w.key
                    AND status <> 'merged' ORDER BY status = 'deleted' LIMIT 2) AS u
            """)
        for row in rows {
            let (key, id, role, status, isInvitee): (String, UUID, UserRole, User.Status, Bool) =
                try row.columns()
            if status == .deleted {
                facts.deleted.insert(key)
                continue
            }
            if isInvitee, try await removeLapsedInvitee(key) { continue }
            facts.known[key] = ImportFacts.Known(
                id: id, role: role, status: status, emailKey: key)
        }
        try await readReserved(keys, into: &facts)
    }

    /// Users of the tenant by their ids; one who was merged is the other.
    private func readIDs(_ ids: [UUID], into facts: inout ImportFacts) async throws {
        guard !ids.isEmpty else { return }
        var survivors: [UUID: UUID] = [:]
        let merged = try await query(
            """
            SELECT w.id, m.user_id FROM unnest(\(ids)::uuid[]) AS w (id), LATERAL (
                SELECT user_id FROM merged_users WHERE tenant_id = \(tenant) AND id = w.id LIMIT 1)
                AS m
            """)
        for row in merged { survivors[try row.get(0)] = try row.get(1, as: UUID.self) }
        let rows = try await query(
            """
            SELECT w.named, u.id, u.role, u.status, u.email_key
            FROM unnest(\(ids)::uuid[], \(ids.map { survivors[$0] ?? $0 })::uuid[]) AS w (named, id),
                LATERAL (SELECT * FROM users WHERE tenant_id = \(tenant) AND id = w.id LIMIT 1) AS u
            """)
        for row in rows {
            let (named, id, role, status, key): (UUID, UUID, UserRole, User.Status, String) =
                try row.columns()
            facts.byID[named.description] = ImportFacts.Known(
                id: id, role: role, status: status, emailKey: key)
        }
    }

    /// Ids of version 4, as all ids of users are, that nothing of any tenant has or had.
    private func readFreeIDs(
        _ ids: [UUID], into facts: inout ImportFacts, _ database: Database
    ) async throws {
        let wanted = Set(ids.filter { $0.isRandom && facts.byID[$0.description] == nil })
        guard !wanted.isEmpty else { return }
        let known = try await database.platform.read(
            "SELECT ids_known(\(wanted.map(\.description)))")
        facts.free = wanted.subtracting(
            try known.compactMap { UUID(try $0.get(0, as: String.self)) })
    }

    /// Addresses that a user of the tenant had until lately.
    private func readReserved(_ keys: [String], into facts: inout ImportFacts) async throws {
        let reserved = try await query(
            """
            SELECT f.email_key FROM former_addresses f WHERE f.tenant_id = \(tenant)
                AND f.email_key = ANY (\(keys)) AND f.expires_at > \(now) AND EXISTS (
                    SELECT 1 FROM users u WHERE u.tenant_id = \(tenant) AND u.id = f.user_id
                        AND u.status <> 'deleted')
            """)
        for row in reserved { facts.reserved.insert(try row.get(0)) }
    }

    private func readExternalIDs(_ ids: [String], into facts: inout ImportFacts) async throws {
        guard !ids.isEmpty else { return }
        let rows = try await query(
            """
            SELECT w.id, u.id FROM unnest(\(ids)::text[]) AS w (id), LATERAL (
                SELECT id FROM users WHERE tenant_id = \(tenant) AND external_id = w.id
                    AND status <> 'deleted' AND status <> 'merged' LIMIT 1) AS u
            """)
        for row in rows {
            facts.holders[ImportedUser.key(externalID: try row.get(0))] = try row.get(1)
        }
    }
}

extension ImportedUser {
    /// The row's id, if it can be one of ours.
    var uuid: UUID? { id.flatMap { UUID($0) } }
}
