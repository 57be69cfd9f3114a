import Domain
import JSON
import Postgres
import Text

extension TenantScope {
    /// All clients that the tenant has configured, enabled or not.
    package func clients() async throws(PostgresError) -> [ClientRow] {
        let rows = try await read(
            "SELECT \(ClientRow.columns) FROM clients c WHERE c.tenant_id = \(tenant)")
        var found: [ClientRow] = []
        for row in rows { found.append(try ClientRow(row)) }
        return found
    }

    /// The hosts at which the tenant's clients answer.
    package func boundHosts() async throws(PostgresError) -> [BoundClientHost] {
        try await read(BoundClientHost.all).map { row throws(PostgresError) in
            try BoundClientHost(row)
        }
    }

    /// nil if the tenant has not configured the client.
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
    /// The client's row, locked; the default row if the client was never set.
    package func lockClient(_ name: String) async throws -> ClientRow {
        let rows = try await query(
            """
            SELECT \(ClientRow.columns) FROM clients c
            WHERE c.tenant_id = \(tenant) AND c.name = \(name) FOR UPDATE
            """)
        return try rows.first.map { try ClientRow($0) } ?? ClientRow(unset: name)
    }

    /// Same as in `TenantScope`.
    package func boundHosts() async throws(PostgresError) -> [BoundClientHost] {
        try await query(BoundClientHost.all).map { row throws(PostgresError) in
            try BoundClientHost(row)
        }
    }

    /// Binds a client's hosts before it is set: a distributed database lets no function of the directory
    /// read a tenant's domains once its rows have changed. Throws a conflict naming the host if another
    /// client holds it. `isAssertedByPlatform`: new hosts stay bound whatever domains the tenant has;
    /// without it the caller has checked that they are below a verified one. Returns the hosts of all the
    /// tenant's clients.
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

    /// Sets a client whose hosts are bound.
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

    /// A host that was in the list before is left unchanged: saving a client does not fail for a
    /// lost domain, and does not turn a tenant's proof into the platform's assertion.
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

    /// A domain that another tenant has verified is that tenant's, and so are the names below it.
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
                detail: "The host \(host) is below a domain that another tenant has proved.",
                id: nil)
        }
    }

    /// A host with a port precedes the host alone, so the owner of the host owns its ports too:
    /// otherwise another tenant could answer its users there.
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
