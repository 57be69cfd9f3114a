import Cryptography
import Domain
import JSON
import Postgres
import Text

/// A user as stored, with identities from oldest to newest. Each member is decoded only when it is
/// read. A list shows most columns exactly as the database sent them, and decoding all of them
/// first would cost a third more processor time for a list of 50 users.
package struct UserRow: ListedRow {
    /// The columns of a user, in the order in which they are selected.
    package enum Column: Int, CaseIterable, Sendable {
        case id, tenant, email, emailKey, emailVerifiedAt, name, role, status, source, version
        case createdAt, updatedAt, lastSignInAt, deletedAt, statusBefore, externalID
        case publicAttributes, privateAttributes, joinLinkID, isKept, mergedIDs
    }

    private let row: Row
    package let identities: [IdentityRow]
    /// Whether the reader sees only the public attributes.
    package var hidesPrivate = false

    private static let own: SQL =
        """
        users.id, users.tenant_id, users.email, users.email_key, users.email_verified_at,
        users.name, users.role, users.status, users.source, users.version, users.created_at,
        users.updated_at, users.last_sign_in_at, users.deleted_at, users.status_before,
        users.external_id, users.public_attributes, users.private_attributes, users.join_link_id,
        users.keep
        """

    /// The columns, with the identities as one JSON document.
    static func columns(of tenant: UUID) -> SQL {
        """
        \(own), \(MergedUsers.ids(in: tenant)), \(IdentityRow.document(in: tenant))
        """
    }

    /// The number of columns; what is selected after `columns` begins at this index.
    static let end = Column.allCases.count + 1

    /// The columns of a list, in which a user has one row for each identity `i`, or one row without
    /// any. One look-up shows whether the tenant has merged users at all; most have none.
    static func listed(in tenant: UUID) -> SQL {
        """
        \(own), CASE WHEN EXISTS (SELECT FROM merged_users WHERE tenant_id = \(tenant))
            THEN \(MergedUsers.ids(in: tenant)) END, \(IdentityRow.columns)
        """
    }

    /// Decodes a row of `columns(of:)`.
    init(_ row: Row) throws(PostgresError) {
        try Self.check(row)
        self.init(row, try IdentityRow.list(row.get(Self.end - 1, as: JSONB.self)))
    }

    private init(_ row: Row, _ identities: [IdentityRow]) {
        self.row = row
        self.identities = identities
    }

    /// Decodes the rows of `listed(in:)`. A column has the same type in all rows, so only the first
    /// row is checked.
    static func list(_ rows: Rows) throws(PostgresError) -> [UserRow] {
        guard let first = rows.first else { return [] }
        try check(first)
        try IdentityRow.check(first)
        var users: [UserRow] = []
        users.reserveCapacity(rows.count)
        var (at, identities) = (first, [IdentityRow]())
        for row in rows {
            if row.uuid(Column.id.rawValue) != at.uuid(Column.id.rawValue) {
                users.append(UserRow(at, identities))
                (at, identities) = (row, [])
            }
            if let identity = IdentityRow(listed: row) { identities.append(identity) }
        }
        users.append(UserRow(at, identities))
        return users
    }

    /// Throws `.decoding` unless each column has the type that its member needs.
    private static func check(_ row: Row) throws(PostgresError) {
        let _:
            (
                UUID, UUID, String, String, Timestamp?, String?, UserRole, User.Status, User.Source,
                Int, Timestamp, Timestamp, Timestamp?, Timestamp?, User.Status?, String?, String,
                String, UUID?, Bool, String?
            ) = try row.columns()
    }

    /// The text of a column as the database sent it; `nil` if it is NULL.
    package subscript(column: Column) -> StoredText? { StoredText(row, column.rawValue) }

    private func text(_ column: Column) -> String { self[column]?.string ?? "" }

    private func time(_ column: Column) -> Timestamp? { row.timestamp(column.rawValue) }

    /// The value of a column that is an enumeration. Returns `least`, the one with the fewest
    /// rights, for a value that only another version of the service knows.
    private func word<Word: PostgresDecodable>(_ column: Column, _ least: Word) -> Word {
        (try? row.get(column.rawValue, as: Word.self)) ?? least
    }

    /// The user as the target of an audit event.
    var target: AuditTarget { AuditTarget("user", id, email) }
}

extension UserRow {
    package var id: UUID { row.uuid(Column.id.rawValue) ?? .platform }
    package var tenant: UUID { row.uuid(Column.tenant.rawValue) ?? .platform }
    package var email: String { text(.email) }
    /// The normalised address. It is unique among the tenant's users who are not deleted.
    package var emailKey: String { text(.emailKey) }
    package var emailVerifiedAt: Timestamp? { time(.emailVerifiedAt) }
    package var name: String? { self[.name]?.string }
    package var role: UserRole { word(.role, .member) }
    package var status: User.Status { word(.status, .deleted) }
    var source: User.Source { word(.source, .operator) }
    /// The version of the user. It increases with each change, and the ETag is made from it.
    package var version: Int { word(.version, 0) }
    /// When the row was created. This may be before the first sign-in.
    package var createdAt: Timestamp { time(.createdAt) ?? Timestamp(microseconds: 0) }
    package var updatedAt: Timestamp { time(.updatedAt) ?? Timestamp(microseconds: 0) }
    package var lastSignInAt: Timestamp? { time(.lastSignInAt) }
    var deletedAt: Timestamp? { time(.deletedAt) }
    /// The status before the current suspension or deletion.
    var statusBefore: User.Status? {
        self[.statusBefore].map { _ in word(.statusBefore, .deleted) }
    }
    /// The user's id in the customer's own system. It is unique among the tenant's users who are
    /// not deleted.
    package var externalID: String? { self[.externalID]?.string }
    package var attributes: AttributePair {
        AttributePair(public: text(.publicAttributes), private: text(.privateAttributes))
    }
    /// The join link that admitted the user; `nil` if none did.
    package var joinLinkID: UUID? { row.uuid(Column.joinLinkID.rawValue) }
    /// Whether the user is exempt from the inactivity rule.
    package var isKept: Bool { word(.isKept, false) }
    /// The ids of users who were merged into this one.
    package var mergedIDs: [UUID] { MergedUsers.list(self[.mergedIDs]?.string) }

    /// The value by which a cursor continues a list: the email key, or the time in microseconds
    /// since 1970.
    package func value(of sort: ListQuery.Sort) -> String {
        switch sort {
        case .email: emailKey
        case .lastSignIn: lastSignInAt.map { "\($0.microseconds)" } ?? ListQuery.never
        default: "\(createdAt.microseconds)"
        }
    }
}

/// The values of a user's fields after an edit.
package struct UserEdit: Sendable {
    package var name: String?
    package var role: UserRole
    package var externalID: String?
    /// Whether the user is exempt from the inactivity rule.
    package var isKept: Bool
    package var attributes: AttributePair

    /// Takes the current values, so that without further assignments nothing changes.
    package init(of row: UserRow) {
        name = row.name
        role = row.role
        externalID = row.externalID
        isKept = row.isKept
        attributes = row.attributes
    }
}

/// A user's identity at a provider. Each member is decoded only when it is read.
package struct IdentityRow: Sendable {
    /// The columns in the order of `columns`, which is also the order of the values in a document
    /// of identities.
    package enum Column: Int, CaseIterable, Sendable {
        case id, provider, issuer, subject, email, createdAt, lastUsedAt, isEmailTrusted
        case aliasCount, linkedByType, linkedByID
    }

    private enum Source {
        /// A row of a list, in which the identity's columns follow the user's.
        case row(Row)
        case document([JSONValue])
    }

    private let source: Source
    private static let first = UserRow.end - 1

    static let columns: SQL =
        """
        i.id AS i1, i.provider, i.issuer, i.subject, i.email AS i2, i.created_at AS i3,
        i.last_used_at, i.email_vouched, i.alias_count, i.linked_by_type, i.linked_by_id
        """

    /// An expression for the identities of a row of `users`, as one document.
    static func document(in tenant: UUID) -> SQL {
        """
        (SELECT coalesce(jsonb_agg(jsonb_build_array(i.id, i.provider, i.issuer, i.subject, i.email,
            (extract(epoch FROM i.created_at) * 1000000)::bigint,
            (extract(epoch FROM i.last_used_at) * 1000000)::bigint, i.email_vouched, i.alias_count,
            i.linked_by_type, i.linked_by_id)
            ORDER BY i.created_at, i.id), '[]')
        FROM identities i WHERE i.tenant_id = \(tenant) AND i.user_id = users.id)
        """
    }

    /// The identity in a row of a list; `nil` if the user of the row has none.
    init?(listed row: Row) {
        guard row.bytes(Self.first) != nil else { return nil }
        source = .row(row)
    }

    private init?(_ parts: [JSONValue]) {
        guard parts.count == Column.allCases.count, parts[0].string.flatMap({ UUID($0) }) != nil,
            (1...3).allSatisfy({ parts[$0].string != nil }),
            parts[Column.createdAt.rawValue].int != nil,
            parts[Column.aliasCount.rawValue].int != nil
        else { return nil }
        source = .document(parts)
    }

    static func list(_ document: JSONB) throws(PostgresError) -> [IdentityRow] {
        let items = try? JSONValue(parsing: Array(document.text.utf8)).array
        let rows = items?.compactMap { $0.array.flatMap { IdentityRow($0) } }
        guard let rows, rows.count == items?.count else {
            throw PostgresError(.decoding, "identities")
        }
        return rows
    }

    /// Throws `.decoding` unless each column of a list's row has the type of its member.
    static func check(_ row: Row) throws(PostgresError) {
        let _:
            (
                UUID?, String?, String?, String?, String?, Timestamp?, Timestamp?, Bool?, Int?,
                String?, String?
            ) = try row.columns(from: first)
    }

    /// The text of a column; `nil` if it is NULL.
    package subscript(column: Column) -> StoredText? {
        switch source {
        case .row(let row): StoredText(row, Self.first + column.rawValue)
        case .document(let parts): parts[column.rawValue].string.map(StoredText.init)
        }
    }

    private func text(_ column: Column) -> String { self[column]?.string ?? "" }

    private func time(_ column: Column) -> Timestamp? {
        switch source {
        case .row(let row): row.timestamp(Self.first + column.rawValue)
        case .document(let parts):
            parts[column.rawValue].int.map { Timestamp(microseconds: Int64($0)) }
        }
    }
}

extension IdentityRow {
    package var id: UUID {
        switch source {
        case .row(let row): row.uuid(Self.first) ?? .platform
        case .document(let parts): parts[0].string.flatMap { UUID($0) } ?? .platform
        }
    }
    /// A `ProviderKind` raw value.
    package var provider: String { text(.provider) }
    /// The issuer. For a Cognito pool it is the pool's id, followed by `/upstream` if the user came
    /// from an unmapped upstream.
    var issuer: String { text(.issuer) }
    package var subject: String { text(.subject) }
    /// The address as the provider reported it, which may differ from the user's; `nil` if there is
    /// none.
    package var email: String? { self[.email]?.string }
    /// When the identity was linked to the user.
    package var createdAt: Timestamp { time(.createdAt) ?? Timestamp(microseconds: 0) }
    package var lastUsedAt: Timestamp? { time(.lastUsedAt) }
    /// Whether the provider was trusted to prove the address when the identity was last used.
    package var isEmailTrusted: Bool {
        let column = Column.isEmailTrusted.rawValue
        return switch source {
        case .row(let row): (try? row.get(Self.first + column, as: Bool?.self)) ?? false
        case .document(let parts): parts[column].bool ?? false
        }
    }
    /// The number of a pool's `sub`s that are aliases of the identity.
    package var aliasCount: Int {
        let column = Column.aliasCount.rawValue
        return switch source {
        case .row(let row): (try? row.get(Self.first + column, as: Int?.self)) ?? 0
        case .document(let parts): parts[column].int ?? 0
        }
    }
    /// The type of the actor who linked the identity by hand; `nil` if a rule or the user did.
    var linkedByType: String? { self[.linkedByType]?.string }
    var linkedByID: String? { self[.linkedByID]?.string }
}

/// Keys for persons. A row of an import that is not processed yet refers to a person by such keys.
/// Each key is made from an address, an external id or a sign-in, and is the first 8 bytes of a
/// hash.
enum StagedPerson {
    static func key(email key: String) -> Int64 { hash("email", key) }

    static func key(externalID: String) -> Int64 { hash("id", externalID) }

    /// The key of an id that a row of an import contains; the id may be a user's.
    static func key(id: String) -> Int64 {
        hash("sign-in", "", "", UUID(id)?.description ?? id)
    }

    /// The key of a sign-in, made from the bytes of its three parts.
    static func key(provider: String, issuer: String, subject: String) -> Int64 {
        hash("sign-in", provider, issuer, subject)
    }

    /// An SQL condition for the import rows `t` that have one of these keys or the bitwise
    /// complement of one. A row whose address is not verified is stored under the complements of
    /// its keys. The condition finds the rows by an index and then reads them by their physical
    /// place. The planner would not choose this plan: its statistics do not cover a new import yet,
    /// so it would scan a whole import once for each row of that import.
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
    /// The keys of the user's id, external id and sign-ins.
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

    /// The columns of the secrets, which directly follow `UserRow.columns(of:)`.
    static let columns: SQL = "users.password_hash, users.pin_hash, users.must_change_password"
    static let end = UserRow.end + 3

    init(_ row: Row) throws(PostgresError) {
        (passwordHash, pinHash, mustChangePassword) = try row.columns(from: UserRow.end)
    }
}
