import JSON
import Postgres
import Text

/// Checks users' attributes against the tenant's schema, and maintains their index.
extension Change {
    /// Checks the new attributes against the tenant's schema and returns the schema. Returns `nil`
    /// if the attributes do not differ from the old ones. Throws `AttributeFaults` if they are
    /// invalid.
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

    /// Replaces a user's entries in the index.
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

/// Adds users to the index of an attribute that was not indexed when they were written, batch by
/// batch.
extension Database {
    /// The most users that one transaction indexes.
    static let indexBatch = 500
    /// The maximum number of batches that are indexed for one tenant in one round, or in the
    /// request that stores a new schema.
    static let indexBatches = 20

    /// Indexes up to `indexBatches` batches in every tenant in which users still have to be
    /// indexed.
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

    /// Indexes up to `indexBatches` batches of a tenant's users. Returns true if no users are left.
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
    /// Indexes one batch of users; returns true if no users are left. The users stay locked until
    /// their entries are written, so that a concurrent change of a user happens either before or
    /// after.
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
        // Does nothing if another schema was stored in the meantime, whose indexing then starts
        // anew.
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

/// Searches for users by the value of an attribute.
extension TenantScope {
    /// The maximum number of users who are counted for one value, since each of them costs a
    /// separate look-up.
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
        // Reads the user's value by its key. With EXISTS, PostgreSQL may build a hash of all users
        // who have the value.
        let condition: SQL = """
             AND CASE WHEN (SELECT a.value FROM user_attributes a WHERE a.tenant_id = \(tenant)
                AND a.user_id = users.id AND a.name = \(name)) = \(value)
                THEN true ELSE false END
            """
        // Only one attribute's index can give the order of the list; for further attributes the
        // value of each user is checked.
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

    /// Which of the given users have the value. Looks up each user separately, since PostgreSQL
    /// would sometimes read all users who have the value, even if they are a million.
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
