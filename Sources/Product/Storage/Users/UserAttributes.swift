import JSON
import Postgres
import Text

/// The attributes of users, checked by the tenant's schema, and their index.
extension Change {
    /// The schema in force if these attributes need it; `nil` if nothing changes. Throws
    /// `AttributeFaults`.
    func check(
        _ new: AttributePair, after old: AttributePair?
    ) async throws -> AttributeSchema? {
        guard new != old else { return nil }
        var faults = new.faults()
        let schema = try await attributeSchema().schema
        faults += schema.faults(new, after: old ?? AttributePair(), isNew: old == nil)
        if !faults.isEmpty { throw AttributeFaults(faults) }
        return schema
    }

    /// Rewrites the index of one user.
    func index(
        _ attributes: AttributePair, of user: UUID, createdAt: Timestamp, by schema: AttributeSchema
    ) {
        let words = schema.indexedWords(of: attributes)
        guard !schema.indexed.isEmpty else { return }
        queryLater(
            "DELETE FROM user_attributes WHERE tenant_id = \(tenant) AND user_id = \(user)")
        guard !words.isEmpty else { return }
        queryLater(
            """
            INSERT INTO user_attributes (tenant_id, user_id, name, value, created_at)
            SELECT anchor.id, \(user), w.name, w.value, \(createdAt)
            FROM \(SQL.anchor(of: tenant)), unnest(\(words.map(\.name))::text[],
                \(words.map(\.word))::text[]) AS w (name, value)
            WHERE anchor.id = \(tenant)
            """)
    }
}

/// Indexes users who existed before a name was indexed, batch by batch.
extension Database {
    /// The most users of one transaction.
    static let indexBatch = 500
    /// The most batches of one tenant in one round, and of the call that puts a schema.
    package static let indexBatches = 20

    /// Indexes users in every tenant that has users left to read.
    package func indexAttributes() async throws {
        let rows = try await platform.read(
            "SELECT tenant_id FROM attribute_schemas WHERE indexed_to IS NOT NULL LIMIT 1000")
        var failure: (any Error)?
        for row in rows {
            do {
                try await indexAttributes(of: row.get(0))
            } catch {
                if (error as? PostgresError)?.kind == .unavailable { throw error }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Returns true if no user is left to read.
    @discardableResult
    package func indexAttributes(of tenant: UUID) async throws -> Bool {
        for _ in 0..<Self.indexBatches {
            let isDone = try await scope(tenant).change(by: .system) { change in
                try await change.indexBatch()
            }
            if isDone { return true }
        }
        return false
    }
}

extension Change {
    /// The users stay locked until their words are written, so that a concurrent edit comes before
    /// or after.
    fileprivate func indexBatch() async throws -> Bool {
        let row = try await attributeSchemaUnlocked()
        guard let last = row.indexedTo else { return true }
        let users = try await query(
            """
            SELECT id, created_at, public_attributes, private_attributes FROM users
            WHERE tenant_id = \(tenant) AND id > \(last)\(SQL.everyID) ORDER BY id
            LIMIT \(raw: "\(Database.indexBatch)") FOR UPDATE
            """)
        var words: [(user: UUID, name: String, word: String, createdAt: Timestamp)] = []
        var ids: [UUID] = []
        for user in users {
            let (id, createdAt, shown, kept): (UUID, Timestamp, String, String) =
                try user.columns()
            ids.append(id)
            let pair = AttributePair(public: shown, private: kept)
            if pair.isEmpty { continue }
            words += row.schema.indexedWords(of: pair).map { (id, $0.name, $0.word, createdAt) }
        }
        queryLater(
            "DELETE FROM user_attributes WHERE tenant_id = \(tenant) AND user_id = ANY (\(ids))")
        if !words.isEmpty {
            queryLater(
                """
                INSERT INTO user_attributes (tenant_id, user_id, name, value, created_at)
                SELECT anchor.id, w.user_id, w.name, w.value, w.created_at
                FROM \(SQL.anchor(of: tenant)), unnest(\(words.map(\.user))::uuid[], \(words.map(\.name))::text[],
                    \(words.map(\.word))::text[], \(words.map(\.createdAt))::timestamptz[])
                    AS w (user_id, name, value, created_at)
                WHERE anchor.id = \(tenant)
                """)
        }
        let isDone = ids.count < Database.indexBatch
        let next = isDone ? nil : ids.last
        let ready = isDone ? row.schema.indexed.map(\.name) : row.ready
        // Another schema may have been put since it was read; then its own reading begins.
        try await query(
            """
            UPDATE attribute_schemas SET indexed_to = \(next), ready = \(ready)
            WHERE tenant_id = \(tenant) AND version = \(row.version) AND indexed_to = \(last)
            """)
        return isDone
    }

    private func attributeSchemaUnlocked() async throws -> AttributeSchemaRow {
        let rows = try await query(
            """
            SELECT \(AttributeSchemaRow.columns) FROM attribute_schemas s
            WHERE s.tenant_id = \(tenant)
            """)
        return try rows.first.map { try AttributeSchemaRow($0) } ?? .none
    }
}

/// Lists of users by an attribute.
extension TenantScope {
    /// If many users have a value, at most this many are counted, since each is a separate look-up.
    private static let counted = 1000

    func look(
        for attribute: (name: String, value: String), _ search: inout ListSearch
    ) async throws(PostgresError) {
        let (name, value) = attribute
        let rows = try await read(
            """
            SELECT user_id FROM user_attributes
            WHERE tenant_id = \(tenant) AND name = \(name) AND value = \(value)
                AND created_at IS NOT NULL
            LIMIT \(raw: "\(Self.few + 1)")
            """)
        var ids: [UUID] = []
        ids.reserveCapacity(rows.count)
        for row in rows { ids.append(try row.get(0)) }
        if ids.count <= Self.few { return search.ids.append(ids) }
        if let some = search.some {
            search.some = try await self.some(of: some, having: attribute)
        } else {
            search.some = Array(ids.prefix(Self.counted))
        }
        // Reads the user's one value by its key. For EXISTS the planner may build a hash of all
        // users who have the value.
        let condition: SQL = """
             AND CASE WHEN (SELECT a.value FROM user_attributes a WHERE a.tenant_id = \(tenant)
                AND a.user_id = users.id AND a.name = \(name)) = \(value)
                THEN true ELSE false END
            """
        // Only one attribute's table is walked; for further attributes each user's value is
        // checked.
        guard search.byAge == nil else { return search.conditions.append(condition) }
        search.byAge = AgedRows(
            table: """
                (SELECT a.user_id AS id, a.created_at, u.tenant_id, u.email, u.email_key,
                    u.email_verified_at, u.name, u.role, u.status, u.source, u.version, u.updated_at,
                    u.last_sign_in_at, u.deleted_at, u.status_before, u.external_id,
                    u.public_attributes, u.private_attributes, u.join_link_id, u.keep
                FROM user_attributes a
                CROSS JOIN LATERAL (SELECT * FROM users WHERE tenant_id = \(tenant)
                    AND id = a.user_id OFFSET 0) AS u
                WHERE a.tenant_id = \(tenant) AND a.name = \(name) AND a.value = \(value)
                    AND a.created_at IS NOT NULL) AS users
                """, condition: condition)
    }

    /// Those of some users who have the value. It takes one probe for each, since the planner would
    /// sometimes read all users who have the value, even if they are a million.
    private func some(
        of users: [UUID], having attribute: (name: String, value: String)
    ) async throws(PostgresError) -> [UUID] {
        let rows = try await read(
            """
            SELECT w.id FROM unnest(\(users)::uuid[]) AS w (id), LATERAL (
                SELECT value FROM user_attributes WHERE tenant_id = \(tenant)
                    AND user_id = w.id AND name = \(attribute.name) LIMIT 1) AS a
            WHERE a.value = \(attribute.value)
            """)
        return try rows.all { row throws(PostgresError) in try row.get(0) }
    }
}
