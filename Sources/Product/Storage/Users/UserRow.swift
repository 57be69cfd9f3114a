import Cryptography
import Domain
import JSON
import Postgres
import Text

/// A user as stored, with identities from oldest to newest.
package struct UserRow: ListedRow {
    package var id: UUID
    package var tenant: UUID
    package var email: String
    /// The normalised address. It is unique among the tenant's users who are not deleted.
    package var emailKey: String
    package var emailVerifiedAt: Timestamp?
    package var name: String?
    package var role: UserRole
    package var status: User.Status
    package var source: User.Source
    /// Increases with each change; the ETag is made from it.
    package var version: Int
    /// When the row was created, which may be before the first sign-in.
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    package var lastSignInAt: Timestamp?
    package var deletedAt: Timestamp?
    /// The status before a suspension or a deletion.
    package var statusBefore: User.Status?
    /// The user's id in the customer's own system. It is unique among the tenant's users who are
    /// not deleted.
    package var externalID: String?
    package var attributes: AttributePair
    /// Whether the reader sees only the public attributes.
    package var hidesPrivate = false
    package var identities: [IdentityRow]
    /// The ids of users who were merged into this one.
    package var mergedIDs: [UUID]
    /// The join link that admitted the user; `nil` if none did.
    package var joinLinkID: UUID?
    /// Whether the inactivity rule leaves the user alone.
    package var isKept = false

    static let ownColumns: SQL =
        """
        users.id, users.tenant_id, users.email, users.email_key, users.email_verified_at,
        users.name, users.role, users.status, users.source, users.version, users.created_at,
        users.updated_at, users.last_sign_in_at, users.deleted_at, users.status_before,
        users.external_id, users.public_attributes, users.private_attributes
        """

    /// The columns, with the identities as one JSON document.
    static func columns(of tenant: UUID) -> SQL {
        """
        \(ownColumns),
        (SELECT coalesce(jsonb_agg(jsonb_build_array(i.id, i.provider, i.issuer, i.subject, i.email,
            (extract(epoch FROM i.created_at) * 1000000)::bigint,
            (extract(epoch FROM i.last_used_at) * 1000000)::bigint, i.email_vouched, i.alias_count,
            i.linked_by_type, i.linked_by_id)
            ORDER BY i.created_at, i.id), '[]')
        FROM identities i WHERE i.tenant_id = \(tenant) AND i.user_id = users.id),
        \(MergedUsers.ids(in: tenant)), users.join_link_id, users.keep
        """
    }

    /// The number of columns; what is selected after `columns` begins at this index.
    static let end = 22

    /// Decodes `columns`.
    init(_ row: Row) throws(PostgresError) {
        try self.init(row, identities: IdentityRow.list(row.get(18, as: JSONB.self)))
        mergedIDs = MergedUsers.list(try row.get(19, as: String?.self))
        joinLinkID = try row.get(20, as: UUID?.self)
        isKept = try row.get(21)
    }

    private init(_ row: Row, identities: [IdentityRow]) throws(PostgresError) {
        self.identities = identities
        mergedIDs = []
        let (shown, kept): (String, String)
        (
            id, tenant, email, emailKey, emailVerifiedAt, name, role, status, source, version,
            createdAt, updatedAt, lastSignInAt, deletedAt, statusBefore, externalID, shown, kept
        ) = try row.columns()
        attributes = AttributePair(public: shown, private: kept)
    }

    /// The cursor's value: the email key, or `created_at` in microseconds since 1970.
    package func value(of sort: ListQuery.Sort) -> String {
        sort == .email ? emailKey : "\(createdAt.microseconds)"
    }

    /// The user as the target of an audit event.
    var target: AuditTarget { AuditTarget("user", id, email) }
}

/// A user's identity at a provider.
package struct IdentityRow: Sendable {
    package var id: UUID
    /// A `ProviderKind` raw value.
    package var provider: String
    /// For a pool: its id, with `/upstream` for an unmapped upstream.
    package var issuer: String
    package var subject: String
    /// The address as the provider gave it, which may not be the user's; `nil` if there is none.
    package var email: String?
    /// Whether the provider was trusted for the address when it was linked.
    package var isEmailTrusted: Bool
    package var createdAt: Timestamp
    package var lastUsedAt: Timestamp?
    /// How many `sub`s of a pool are bound to the identity.
    package var aliasCount: Int
    /// The operator who linked it by hand; `nil` if a rule or the user did.
    package var linkedByType: String?
    package var linkedByID: String?

    static func list(_ document: JSONB) throws(PostgresError) -> [IdentityRow] {
        guard let parsed = try? JSONValue(parsing: Array(document.text.utf8)),
            let items = parsed.array
        else { throw PostgresError(.decoding, "identities") }
        var rows: [IdentityRow] = []
        for item in items {
            guard let row = item.array.flatMap({ IdentityRow($0) }) else {
                throw PostgresError(.decoding, "identities")
            }
            rows.append(row)
        }
        return rows
    }

    private init?(_ parts: [JSONValue]) {
        guard parts.count == 11, let id = parts[0].string.flatMap({ UUID($0) }),
            let provider = parts[1].string, let issuer = parts[2].string,
            let subject = parts[3].string, let created = parts[5].int, let aliases = parts[8].int
        else { return nil }
        self.id = id
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
        email = parts[4].string
        isEmailTrusted = parts[7].bool ?? false
        createdAt = Timestamp(microseconds: Int64(created))
        lastUsedAt = parts[6].int.map { Timestamp(microseconds: Int64($0)) }
        aliasCount = aliases
        linkedByType = parts[9].string
        linkedByID = parts[10].string
    }
}

/// How rows that wait in imports refer to a person: by addresses, external ids and sign-ins, each
/// as the first 8 bytes of a hash.
enum StagedPerson {
    static func key(email key: String) -> Int64 { hash("email", key) }

    static func key(externalID: String) -> Int64 { hash("id", externalID) }

    /// The id in a row, which may be a user's.
    static func key(id: String) -> Int64 {
        hash("sign-in", "", "", UUID(id)?.description ?? id)
    }

    /// A key made from the bytes of the three parts.
    static func key(provider: String, issuer: String, subject: String) -> Int64 {
        hash("sign-in", provider, issuer, subject)
    }

    /// A condition on the rows `t` that have one of these keys or its complement, as rows with an
    /// unverified address do. First each key is looked up with one index probe per import, then the
    /// rows are read by their physical place. Nothing is left to the planner: its statistics for a
    /// new import are old, and it would read each import once for each of its rows.
    static func rows(_ keys: [Int64], in tenant: UUID) -> SQL {
        """
        t.ctid = ANY (ARRAY(SELECT f.place FROM imports m
            CROSS JOIN unnest(\(keys + keys.map { ~$0 })::bigint[]) AS w (key)
            CROSS JOIN LATERAL (SELECT k.row FROM import_keys k WHERE k.tenant_id = \(tenant)
                AND k.import_id = m.id AND k.key = w.key OFFSET 0) AS n
            CROSS JOIN LATERAL (SELECT r.ctid AS place FROM import_rows r
                WHERE r.tenant_id = \(tenant) AND r.import_id = m.id AND r.row = n.row
                OFFSET 0) AS f
            WHERE m.tenant_id = \(tenant)))
        """
    }

    private static func hash(_ parts: String...) -> Int64 {
        let text = parts.joined(separator: "\u{0}")
        return SHA256.hash(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}

extension UserRow {
    /// The keys of the id, of the external id and of the sign-ins.
    var stagedKeys: [Int64] {
        [StagedPerson.key(id: id.description)]
            + (externalID.map { [StagedPerson.key(externalID: $0)] } ?? [])
            + identities.map {
                StagedPerson.key(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
            }
    }
}

/// A user's password and PIN as PHC strings; read only to check them.
package struct UserSecrets: Sendable {
    package var passwordHash: String?
    package var pinHash: String?
    /// Whether an operator chose the password, so that the user must choose another.
    package var mustChangePassword: Bool

    /// These columns directly follow `UserRow.columns`.
    static let columns: SQL = "users.password_hash, users.pin_hash, users.must_change_password"
    static let start = UserRow.end
    static let end = start + 3

    init(_ row: Row) throws(PostgresError) {
        passwordHash = try row.get(Self.start)
        pinHash = try row.get(Self.start + 1)
        mustChangePassword = try row.get(Self.start + 2)
    }
}
