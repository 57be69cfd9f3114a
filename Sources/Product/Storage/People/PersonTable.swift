import Postgres
import Text

/// A table with rows about a person: which of its columns an export contains, and what an erasure
/// does to the rows. A test compares the list of tables with PostgreSQL's catalogue.
package struct PersonTable: Sendable {
    /// What a purge does to the rows.
    enum Fate: String, Sendable, CaseIterable {
        /// The rows are deleted.
        case removed
        /// The rows stay as a record of what happened, without the person's address, name and
        /// texts.
        case redacted
        /// The rows stay but can no longer be used.
        case revoked
    }

    /// The table's name in an export and in the record of an erasure.
    package let name: String
    /// The table's name in the database.
    package let table: String
    let fate: Fate
    /// Columns that an export leaves out: secrets, and what belongs to another person.
    let hidden: [String]
    /// The only columns that an export contains, for a table whose rows are mostly about another
    /// person. If it is `nil`, an export contains all columns that are not `hidden`.
    let shown: [String]?
    /// Columns that name who did something, such as `maker` for `maker_type` and `maker_id`. A row
    /// may be about the person only because these columns name the person.
    package let actors: [String]
    /// The columns by which an export sorts one person's rows.
    let order: String
    /// The condition that is true for a row `t` of the table if the row is about the person. Each
    /// statement adds that the row must belong to the tenant.
    let condition: @Sendable (PersonRecords) -> SQL

    init(
        _ name: String, of table: String? = nil, _ fate: Fate, hiding hidden: [String] = [],
        showing shown: [String]? = nil, by order: String, doneBy actors: [String] = [],
        where condition: @escaping @Sendable (PersonRecords) -> SQL
    ) {
        self.name = name
        self.table = table ?? name
        self.fate = fate
        self.hidden = hidden
        self.shown = shown
        self.order = order
        self.actors = actors
        self.condition = condition
    }

    /// A table whose rows refer to a user by id and are deleted together with the user.
    private static func below(
        _ name: String, hiding hidden: [String] = [], by order: String
    ) -> PersonTable {
        PersonTable(name, .removed, hiding: hidden, by: order) { "t.user_id = ANY (\($0.ids))" }
    }

    /// A table whose rows are found by an address.
    private static func addressed(
        _ name: String, _ fate: Fate = .removed, hiding hidden: [String] = [], by order: String
    ) -> PersonTable {
        PersonTable(name, fate, hiding: hidden, by: order) { "t.email_key = ANY (\($0.keys))" }
    }

    /// A condition that is true for rows that name the person as the actor. For example, `column`
    /// is `maker` for the columns `maker_type` and `maker_id`.
    private static func done(_ column: String, by records: PersonRecords) -> SQL {
        "t.\(raw: column)_type = 'user' AND t.\(raw: column)_id = ANY (\(records.idTexts))"
    }

    package static let all = account + access + past

    private static let account: [PersonTable] = [
        PersonTable("users", .removed, hiding: ["password_hash", "pin_hash"], by: "id") {
            "t.id = ANY (\($0.ids))"
        },
        below("identities", by: "id"),
        PersonTable("identity_aliases", .removed, by: "pool, alias") {
            """
            t.identity_id IN (SELECT i.id FROM identities i
                WHERE i.tenant_id = \($0.tenant) AND i.user_id = ANY (\($0.ids)))
            """
        },
        below("barred_identities", by: "provider, issuer, subject"),
        below("former_identities", by: "id"),
        below("former_addresses", by: "email_key"),
        below("email_changes", hiding: ["token_hash"], by: "user_id"),
        below("client_profiles", by: "user_id, client"),
        below("user_attributes", by: "user_id, name"),
        PersonTable("merged_users", .removed, by: "id") { "t.user_id = ANY (\($0.ids))" },
        PersonTable("user_merges", .redacted, by: "created_at, id") {
            "(t.winner_id = ANY (\($0.ids)) OR t.loser_id = ANY (\($0.ids)))"
        },
    ]

    private static let access: [PersonTable] = [
        below("sessions", hiding: ["token_hash"], by: "id"),
        below("user_uses", by: "user_id"),
        below("inactive_users", by: "user_id"),
        below("failed_sign_ins", hiding: ["number"], by: "created_at, id"),
        below("known_devices", hiding: ["key"], by: "user_id, key"),
        below("password_resets", hiding: ["token_hash"], by: "id"),
        below("link_grants", hiding: ["token_hash"], by: "id"),
        PersonTable(
            "api_keys", .revoked, hiding: ["hash", "previous_hash", "name_key"], by: "id"
        ) { "t.owner_user_id = ANY (\($0.ids))" },
        PersonTable("api_key_uses", .revoked, by: "key_id, day") {
            """
            t.key_id IN (SELECT k.id FROM api_keys k
                WHERE k.tenant_id = \($0.tenant) AND k.owner_user_id = ANY (\($0.ids)))
            """
        },
        PersonTable("invites", .removed, hiding: ["token_hash"], by: "id") {
            "(t.email_key = ANY (\($0.keys)) OR t.accepted_user_id = ANY (\($0.ids)))"
        },
        PersonTable(
            "invites_sent", of: "invites", .redacted,
            hiding: [
                "token_hash", "email", "email_key", "message", "user_id", "accepted_user_id",
                "accepted_identity_id", "external_id", "public_attributes", "private_attributes",
            ], by: "id", doneBy: ["inviter"]
        ) { done("inviter", by: $0) },
        PersonTable(
            "join_links", .redacted, hiding: ["token_hash"], by: "id", doneBy: ["maker"]
        ) { done("maker", by: $0) },
    ]

    private static let past: [PersonTable] = [
        PersonTable("decisions", .redacted, by: "id") {
            "(t.user_id = ANY (\($0.ids)) OR t.email_key = ANY (\($0.keys)))"
        },
        // The merged users are other persons, so an export shows only the columns that do not name
        // them.
        PersonTable(
            "merges_made", of: "user_merges", .redacted,
            showing: [
                "id", "status", "created_at", "created_by_type", "created_by_id", "created_by_name",
            ],
            by: "created_at, id", doneBy: ["created_by"]
        ) { done("created_by", by: $0) },
        // Combines a separate query for each condition, so that each query uses its own index, even
        // if PostgreSQL has no statistics of the events.
        PersonTable("audit_events", .redacted, by: "id", doneBy: ["actor"]) { records in
            let events: SQL = "SELECT id FROM audit_events WHERE tenant_id = \(records.tenant)"
            return """
                t.id = ANY (ARRAY(
                    \(events) AND target_id = ANY (\(records.idTexts + records.things.map(\.description)))
                    UNION \(events) AND target_name = ANY (\(records.words))
                        AND target_type IN ('user', 'invite', 'identity', 'link_grant', 'session')
                    UNION \(events) AND actor_type = 'user' AND actor_id = ANY (\(records.idTexts))
                    UNION \(events) AND actor_type = 'user' AND actor_name = ANY (\(records.words))))
                """
        },
        PersonTable(
            "mail", .redacted, hiding: ["letter", "recipient", "turn", "people"], by: "id"
        ) {
            "(t.about = ANY (\($0.ids + $0.things)::uuid[]) OR t.people && \($0.ids)::uuid[])"
        },
        addressed("pending_choices", hiding: ["identity"], by: "created_at, identity"),
        addressed("reservations", hiding: ["link_grant"], by: "number"),
        addressed("reset_asks", .redacted, hiding: ["about"], by: "id"),
        // `effect` has the data for an undo, and `input` the row of a file: both may contain
        // secrets.
        PersonTable("job_rows", .redacted, hiding: ["input", "effect"], by: "job_id, row") {
            "(t.target_id = ANY (\($0.ids)) OR t.email_key = ANY (\($0.keys)))"
        },
        PersonTable(
            "jobs", .redacted, hiding: ["parameters", "state"], by: "created_at, id",
            doneBy: ["created_by", "actor"]
        ) { "(\(done("created_by", by: $0)) OR \(done("actor", by: $0)))" },
        PersonTable("import_rows", .redacted, hiding: ["document"], by: "import_id, row") {
            "t.document IS NOT NULL AND \(StagedPerson.rows($0.imported, in: $0.tenant))"
        },
    ]

    /// Selects a page of the person's rows, each as a JSON object.
    func page(_ records: PersonRecords, from start: Int, limit: Int) -> SQL {
        let object: SQL =
            if let shown {
                """
                (SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(t))
                    WHERE key = ANY (\(shown)))
                """
            } else {
                "(to_jsonb(t) - \(hidden)::text[])"
            }
        return """
            SELECT \(object)::text FROM \(raw: table) t
            WHERE t.tenant_id = \(records.tenant) AND \(condition(records))
            ORDER BY \(raw: order) LIMIT \(limit) OFFSET \(start)
            """
    }

    /// Selects the number of the person's rows in every table, in the order of `all`.
    static func counts(_ records: PersonRecords) -> SQL {
        var sql: SQL = "SELECT "
        for (index, one) in all.enumerated() {
            if index > 0 { sql += ", " }
            sql += """
                (SELECT count(*) FROM \(raw: one.table) t
                WHERE t.tenant_id = \(records.tenant) AND \(one.condition(records)))
                """
        }
        return sql
    }
}

/// How a tenant's tables refer to one user: by the ids of the user and of the users merged into it,
/// by addresses and their spellings, and by the ids of identities and invites.
package struct PersonRecords: Sendable {
    package let tenant: UUID
    /// The user's own id, followed by the ids of the users who were merged into it.
    let ids: [UUID]
    /// The email keys of the user's addresses.
    let keys: [String]
    /// The ids of the user's identities and invites.
    let things: [UUID]
    /// The spellings in which older records may contain the user's addresses.
    let words: [String]

    /// Keys by which rows that wait in imports refer to the user; see `StagedPerson`.
    let imported: [Int64]

    var idTexts: [String] { ids.map(\.description) }

    /// Collects the references to the user of `row`, which is not read again. If `isOwnOnly`,
    /// leaves out an address that another user of the tenant also has, as a purge requires. The
    /// transaction must be able to see merged users.
    init(
        of row: UserRow, isOwnOnly: Bool, _ transaction: Transaction
    ) async throws(PostgresError) {
        tenant = row.tenant
        let ids = [row.id] + row.mergedIDs
        self.ids = ids
        let shared: SQL =
            isOwnOnly
            ? """
             AND NOT EXISTS (SELECT 1 FROM users o WHERE o.tenant_id = \(tenant)
                AND o.email_key = u.email_key AND o.id <> ALL (\(ids)))
            """ : ""
        let addresses = try await transaction.query(
            """
            SELECT u.email_key, u.email FROM users u
            WHERE u.tenant_id = \(tenant) AND u.id = ANY (\(ids))\(shared)
            UNION SELECT f.email_key, f.email FROM former_addresses f
            WHERE f.tenant_id = \(tenant) AND f.user_id = ANY (\(ids))
            """)
        var keys: [String] = []
        var words: [String] = []
        for address in addresses {
            keys.append(try address.get(0))
            words.append(try address.get(1))
        }
        self.keys = keys
        let rows = try await transaction.query(
            """
            SELECT i.id, NULL::text FROM identities i
            WHERE i.tenant_id = \(tenant) AND i.user_id = ANY (\(ids))
            UNION SELECT f.id, NULL FROM former_identities f
            WHERE f.tenant_id = \(tenant) AND f.user_id = ANY (\(ids))
            UNION SELECT v.id, CASE WHEN v.email_key = ANY (\(keys)) THEN v.email END
            FROM invites v WHERE v.tenant_id = \(tenant)
                AND (v.email_key = ANY (\(keys)) OR v.accepted_user_id = ANY (\(ids)))
            UNION SELECT NULL::uuid, d.email FROM decisions d
            WHERE d.tenant_id = \(tenant) AND d.email_key = ANY (\(keys))
            """)
        var things: [UUID] = []
        for row in rows {
            if let thing = try row.get(0, as: UUID?.self) { things.append(thing) }
            if let word = try row.get(1, as: String?.self) { words.append(word) }
        }
        self.things = things
        self.words = keys + words
        imported = try await Self.imported(ids, keys, in: tenant, transaction)
    }

    private static func imported(
        _ ids: [UUID], _ keys: [String], in tenant: UUID, _ transaction: Transaction
    ) async throws(PostgresError) -> [Int64] {
        let rows = try await transaction.query(
            """
            SELECT u.external_id, NULL::text, NULL::text, NULL::text FROM users u
            WHERE u.tenant_id = \(tenant) AND u.id = ANY (\(ids)) AND u.external_id IS NOT NULL
            UNION SELECT NULL, i.provider, i.issuer, i.subject FROM identities i
            WHERE i.tenant_id = \(tenant) AND i.user_id = ANY (\(ids))
            """)
        return try ids.map { StagedPerson.key(id: $0.description) }
            + keys.map { StagedPerson.key(email: $0) }
            + rows.all { row throws(PostgresError) in
                if let id = try row.get(0, as: String?.self) {
                    return StagedPerson.key(externalID: id)
                }
                return StagedPerson.key(
                    provider: try row.get(1), issuer: try row.get(2), subject: try row.get(3))
            }
    }
}
