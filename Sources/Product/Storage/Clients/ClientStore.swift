import Cryptography
import Domain
import JSON
import Postgres
import Text

/// A tenant's settings for one client contract, as stored. A client that was never configured is
/// off and has no row.
package struct ClientRow: Sendable {
    package var name: String
    package var enabled: Bool
    /// The client's hosts, each as `host` or `host:port` in lower case, with A-labels.
    package var hosts: [String]
    package var redirectURIs: [String]
    /// The values of the settings that the contract declares, by their names in `/v1`.
    package var settings: JSONValue
    package var version: Int
    package var createdAt: Timestamp?
    package var updatedAt: Timestamp?

    static let columns: SQL =
        """
        c.name, c.enabled, c.hosts, c.redirect_uris, c.settings::text, c.version, c.created_at,
        c.updated_at
        """

    init(_ row: Row, from start: Int = 0) throws(PostgresError) {
        name = try row.get(start)
        enabled = try row.get(start + 1)
        hosts = try row.get(start + 2)
        redirectURIs = try row.get(start + 3)
        settings = try row.json(start + 4)
        version = try row.get(start + 5)
        createdAt = try row.get(start + 6)
        updatedAt = try row.get(start + 7)
    }

    /// Creates the row of a client that was never configured.
    package init(unset name: String) {
        self.name = name
        enabled = false
        hosts = []
        redirectURIs = []
        settings = .object([])
        version = 0
    }

    var target: AuditTarget { AuditTarget("client", UUID.platform, name) }
}

extension TenantScope {
    /// Returns all clients that the tenant has configured, enabled or not.
    package func clients() async throws(PostgresError) -> [ClientRow] {
        let rows = try await read(
            "SELECT \(ClientRow.columns) FROM clients c WHERE c.tenant_id = \(tenant)")
        var found: [ClientRow] = []
        for row in rows { found.append(try ClientRow(row)) }
        return found
    }

    /// Returns the hosts to which the tenant's clients are bound.
    package func boundHosts() async throws(PostgresError) -> [BoundClientHost] {
        try await read(BoundClientHost.all).map { row throws(PostgresError) in
            try BoundClientHost(row)
        }
    }

    /// Returns the client; `nil` if the tenant has not configured it.
    package func client(_ name: String) async throws(PostgresError) -> ClientRow? {
        let rows = try await read(
            """
            SELECT \(ClientRow.columns) FROM clients c
            WHERE c.tenant_id = \(tenant) AND c.name = \(name)
            """)
        return try rows.first.map { row throws(PostgresError) in try ClientRow(row) }
    }
}

extension Change {
    /// Returns the client's row, locked; the default row if the client was never configured.
    package func lockClient(_ name: String) async throws -> ClientRow {
        let rows = try await query(
            """
            SELECT \(ClientRow.columns) FROM clients c
            WHERE c.tenant_id = \(tenant) AND c.name = \(name) FOR UPDATE
            """)
        return try rows.first.map { try ClientRow($0) } ?? ClientRow(unset: name)
    }

    /// Returns the hosts to which the tenant's clients are bound, read in this transaction.
    package func boundHosts() async throws(PostgresError) -> [BoundClientHost] {
        try await query(BoundClientHost.all).map { row throws(PostgresError) in
            try BoundClientHost(row)
        }
    }

    /// Binds a client's new hosts, releases the hosts that the client no longer has, and returns
    /// the hosts of all the tenant's clients. If another client has a host, throws a conflict that
    /// names the host. With `isAssertedByPlatform`, new hosts stay bound whatever domains the
    /// tenant has. Without it, the caller must have checked that the new hosts are below a verified
    /// domain. Call this function before the client is stored: after a change to a tenant's rows, a
    /// distributed database does not let a directory function read the tenant's domains.
    package func bindHosts(
        of row: ClientRow, as next: ClientRow, isAssertedByPlatform: Bool
    ) async throws -> [BoundClientHost] {
        for host in row.hosts where !next.hosts.contains(where: { sameBytes($0, host) }) {
            try await query("SELECT directory_release_host(\(host), \(next.name))")
        }
        for host in next.hosts.sorted() {
            let isNew = !row.hosts.contains { sameBytes($0, host) }
            try await bind(
                host, to: next.name, isAssertedByPlatform: isAssertedByPlatform, isNew: isNew)
        }
        return try await boundHosts()
    }

    /// Stores a client whose hosts are already bound, and returns its new row.
    package func putClient(_ row: ClientRow, as next: ClientRow) async throws -> ClientRow {
        let rows = try await query(
            """
            INSERT INTO clients AS c (tenant_id, name, enabled, hosts, redirect_uris, settings,
                created_at, updated_at)
            VALUES (\(tenant), \(next.name), \(next.enabled), \(next.hosts),
                \(next.redirectURIs), \(JSONB(next.settings)), \(now), \(now))
            ON CONFLICT (tenant_id, name) DO UPDATE SET enabled = excluded.enabled,
                hosts = excluded.hosts, redirect_uris = excluded.redirect_uris,
                settings = excluded.settings, version = c.version + 1, updated_at = \(now)
            RETURNING \(ClientRow.columns)
            """)
        var changes = AuditChanges()
        changes.add("enabled", .bool(row.enabled), .bool(next.enabled))
        changes.add("hosts", Self.list(row.hosts), Self.list(next.hosts))
        changes.add("redirect_uris", Self.list(row.redirectURIs), Self.list(next.redirectURIs))
        changes.add("settings", row.settings, next.settings)
        try await audit(.clientUpdated, next.target, changes)
        return try rows.only { try ClientRow($0) }
    }

    /// Binds one host to a client. A host that is not new keeps its binding unchanged. So the
    /// client can still be saved after a domain was lost, and saving it does not turn a tenant's
    /// proof into the platform's assertion.
    private func bind(
        _ host: String, to client: String, isAssertedByPlatform: Bool, isNew: Bool
    ) async throws {
        if isNew { try await requireUnproved(host) }
        let held = try await query(
            "SELECT directory_claim_host(\(host), \(client), \(isNew && isAssertedByPlatform))"
        ).only { row in try row.get(0, as: Bool.self) }
        if !isNew { return }
        guard held, try await isFreeOfOthers(host) else {
            throw StorageFailure.conflict(
                code: "conflict", detail: "The host \(host) is bound to another client.", id: nil)
        }
    }

    /// Throws a conflict if another tenant has verified the host's domain or a domain above it: the
    /// names below a verified domain belong to its tenant.
    private func requireUnproved(_ host: String) async throws {
        let name = String(decoding: host.utf8.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        let others = try await query(
            """
            SELECT 1 FROM unnest(\(FactsReading.suffixes(of: name))::text[]) AS suffix
            WHERE directory_tenant_by_domain(suffix) <> \(tenant)
            """)
        guard others.isEmpty else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "The host \(host) is at or below a domain that another tenant has "
                    + "verified.",
                id: nil)
        }
    }

    /// Whether no other tenant has the same host without a port. If another tenant had it, this
    /// tenant could answer that tenant's users, because a binding with a port takes precedence.
    private func isFreeOfOthers(_ host: String) async throws -> Bool {
        guard host.utf8.first != UInt8(ascii: "["), host.utf8.contains(UInt8(ascii: ":")) else {
            return true
        }
        let bare = String(decoding: host.utf8.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        let rows = try await query(
            "SELECT tenant_id = \(tenant) FROM directory_client_by_host(\([bare]))")
        return try rows.first?.get(0, as: Bool.self) ?? true
    }

    private static func list(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }
}

/// The data that an app has stored about a user.
package struct ClientProfile: Sendable {
    /// A JSON object whose members the app has named.
    package var document: JSONValue
    /// Whether the user's password has not changed since the user was created.
    package var hasFirstPassword: Bool
}

extension TenantScope {
    /// Returns the data that the app has stored about the user; an empty object if there is none.
    package func clientProfile(
        of user: UUID, at client: String
    ) async throws(PostgresError) -> ClientProfile {
        let rows = try await read(
            """
            SELECT p.document::text, coalesce(u.password_changed_at = u.created_at, false)
            FROM users u LEFT JOIN client_profiles p
                ON p.tenant_id = u.tenant_id AND p.user_id = u.id AND p.client = \(client)
            WHERE u.tenant_id = \(tenant) AND u.id = \(user)
            """)
        guard let row = rows.first else {
            return ClientProfile(document: .object([]), hasFirstPassword: false)
        }
        return ClientProfile(document: try row.json(0), hasFirstPassword: try row.get(1))
    }
}

extension Change {
    /// Stores these members and leaves the others unchanged. A null removes its member.
    package func editClientProfile(
        of user: UUID, at client: String, _ members: [JSONValue.Member]
    ) async throws(PostgresError) {
        let document = JSONValue.object(members)
        try await query(
            """
            INSERT INTO client_profiles AS p (tenant_id, user_id, client, document, updated_at)
            VALUES (\(tenant), \(user), \(client), jsonb_strip_nulls(\(JSONB(document))), \(now))
            ON CONFLICT (tenant_id, user_id, client) DO UPDATE
                SET document = jsonb_strip_nulls(p.document || \(JSONB(document))),
                    updated_at = \(now)
            """)
    }
}

/// The secret of an OAuth client that is registered at a provider for the use of one client
/// contract only.
package struct ClientSecret: Sendable {
    package var text: String
    /// The hash of where the secret may be sent (its audience), as it was when the secret was set.
    package var audience: [UInt8]
}

extension TenantScope {
    /// Returns the secret in clear, for a call to the provider only; `nil` if none is set.
    package func clientSecret(of client: String) async throws -> ClientSecret? {
        let rows = try await read(
            """
            SELECT id, sealed, audience FROM client_secrets
            WHERE tenant_id = \(tenant) AND client = \(client)
            """)
        guard let row = rows.first else { return nil }
        let plain = try database.open(
            try row.get(1), .clientSecret, of: tenant, row: try row.get(0))
        return ClientSecret(text: String(decoding: plain, as: UTF8.self), audience: try row.get(2))
    }

    /// Returns the names of the clients that have a secret.
    package func clientsWithSecret() async throws(PostgresError) -> [String] {
        try await read("SELECT client FROM client_secrets WHERE tenant_id = \(tenant)")
            .all { row throws(PostgresError) in try row.get(0) }
    }
}

extension Change {
    /// Sets, clears or keeps a client's secret, and returns whether there is one afterwards.
    /// `audience` is the hash of where the secret is sent; `nil` if it can be sent nowhere. A
    /// secret is deleted if its audience changes: otherwise a caller who may change the address,
    /// but not read the secret, could have the secret sent elsewhere.
    package func changeClientSecret(
        of client: ClientRow, _ secret: ProviderSecret, for audience: [UInt8]?
    ) async throws -> Bool {
        let had = try await query(
            """
            SELECT audience FROM client_secrets
            WHERE tenant_id = \(tenant) AND client = \(client.name) FOR UPDATE
            """
        ).first?.get(0, as: [UInt8].self)
        switch secret {
        case .keep:
            guard let had else { return false }
            if let audience, had == audience { return true }
        case .clear:
            if had == nil { return false }
        case .set: break
        }
        try await query(
            "DELETE FROM client_secrets WHERE tenant_id = \(tenant) AND client = \(client.name)")
        var isSet = false
        if case .set(let text) = secret, let audience {
            let id = UUID.random()
            let sealed = try database.seal(Array(text.utf8), .clientSecret, of: tenant, row: id)
            try await query(
                """
                INSERT INTO client_secrets (tenant_id, client, id, sealed, audience, created_at)
                VALUES (\(tenant), \(client.name), \(id), \(sealed), \(audience), \(now))
                """)
            isSet = true
        }
        var changes = AuditChanges()
        changes.add("secret_set", "\(had != nil)", "\(isSet)")
        try await audit(.clientSecretChanged, client.target, changes)
        return isSet
    }
}

/// A tenant and one of its enabled clients, as found for a request to the client's routes.
package struct MountedClient: Sendable {
    /// The client's tenant, which is not deleted but may be suspended.
    package var tenant: TenantRow
    package var client: ClientRow
}

/// The client that answers at the root of a host, and its tenant.
package struct BoundHost: Sendable {
    package let tenant: UUID
    package let client: String
}

/// A binding of a client to a host.
package struct BoundClientHost: Sendable {
    package let client: String
    /// The host in lower case, with a port only if the binding has one.
    package let host: String

    static let all: SQL = "SELECT client, host FROM directory_bound_hosts()"

    init(_ row: Row) throws(PostgresError) {
        client = try row.get(0)
        host = try row.get(1)
    }
}

extension Database {
    /// Returns the client that answers at the root of a host; `nil` if no client is bound to it.
    /// `authority` is the value of the Host header in lower case. A binding with a port takes
    /// precedence over one without.
    func client(atHost authority: String) async throws(PostgresError) -> BoundHost? {
        let bare = String(
            decoding: authority.utf8.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        let wanted = authority.utf8.first == UInt8(ascii: "[") ? [authority] : [authority, bare]
        let rows = try await app.read("SELECT * FROM directory_client_by_host(\(wanted))")
        guard let row = rows.first else { return nil }
        return BoundHost(tenant: try row.get(0), client: try row.get(1))
    }

    /// Returns a tenant's client; `nil` if the tenant is unknown or deleted, or if the client is
    /// off.
    package func mountedClient(
        _ name: String, of idOrSlug: String
    ) async throws(PostgresError) -> MountedClient? {
        guard let tenant = try await tenant(idOrSlug), tenant.status != .deleted,
            let client = try await scope(tenant.id).client(name), client.enabled
        else { return nil }
        return MountedClient(tenant: tenant, client: client)
    }
}
