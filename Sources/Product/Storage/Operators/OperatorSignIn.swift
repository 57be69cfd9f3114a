import Domain
import JSON
import Postgres
import Text

/// The setting by which operators sign in at a provider of the platform.
package struct OperatorSignIn: Sendable, Equatable {
    package var provider: UUID
    /// The domains of operators' addresses, as A-labels. At the first sign-in, an operator whose
    /// address has one of these domains is found by the address that the provider reports.
    package var domains: [String]
    /// Whether operators whose address has one of `domains` can no longer sign in with their
    /// password.
    package var isRequired: Bool
    /// Increases with each change; the ETag is made from it.
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    static let columns: SQL = "provider_id, domains, required, version, created_at, updated_at"

    init(_ row: Row) throws(PostgresError) {
        (provider, domains, isRequired, version, createdAt, updatedAt) = try row.columns()
    }

    package func covers(_ domain: String) -> Bool { domains.contains { sameBytes($0, domain) } }

    /// A condition that is true if the operator `o` can no longer sign in with their own password.
    /// This applies only to a confirmed address, since without one the operator cannot sign in at
    /// the provider.
    static let endsPassword: SQL =
        """
        (o.confirmed AND EXISTS (SELECT 1 FROM operator_sign_in s
            WHERE s.required AND split_part(o.email_key, '@', 2) = ANY (s.domains)))
        """
    /// The kind of the provider to which the sign-in of the operator `o` is bound; NULL if there is
    /// none.
    static let boundKind: SQL =
        """
        (SELECT p.kind FROM operator_sign_in s, LATERAL (SELECT kind, issuer FROM providers
                WHERE id = s.provider_id OFFSET 0) AS p
            WHERE EXISTS (SELECT 1 FROM operator_identities i WHERE i.operator_id = o.id
                AND i.issuer = p.issuer AND NOT i.disowned))
        """
}

extension Database {
    /// How operators sign in at a provider; `nil` if they do not.
    package func operatorSignIn() async throws(PostgresError) -> OperatorSignIn? {
        try await app.read("SELECT \(OperatorSignIn.columns) FROM operator_sign_in").first
            .map(OperatorSignIn.init)
    }

    /// Whether the operator can sign in only at the provider or with a passkey.
    package func isProviderRequired(of person: UUID) async throws -> Bool {
        try await app.read(
            "SELECT \(OperatorSignIn.endsPassword) FROM operators o WHERE o.id = \(person)"
        ).only { row throws(PostgresError) in try row.get(0) }
    }

    /// The operator whose sign-in is bound to this account at the provider; `nil` if there is none.
    package func operatorRow(
        issuer: String, subject: String
    ) async throws(PostgresError) -> OperatorRow? {
        try await app.read(
            """
            SELECT \(OperatorRow.columns) FROM operator_identities i
                JOIN operators o ON o.id = i.operator_id
            WHERE i.issuer = \(issuer) AND i.subject = \(subject) AND NOT i.disowned
            """
        ).first.map(OperatorRow.init)
    }
}

extension Change {
    /// The same as `operatorSignIn` of `Database`, but locks the row until the transaction ends.
    package func lockOperatorSignIn() async throws(PostgresError) -> OperatorSignIn? {
        try await query("SELECT \(OperatorSignIn.columns) FROM operator_sign_in FOR UPDATE").first
            .map(OperatorSignIn.init)
    }

    /// Whether the console session was started through the provider.
    package func isSession(_ session: UUID, through provider: UUID) async throws(PostgresError)
        -> Bool
    {
        try await !query(
            """
            SELECT 1 FROM operator_sessions WHERE id = \(session) AND provider_id = \(provider)
            """
        ).isEmpty
    }

    /// Stores how operators sign in at the provider. `current` is the locked row; nil if there is
    /// none yet.
    package func putOperatorSignIn(
        at provider: ProviderRow, domains: [String], isRequired: Bool, over current: OperatorSignIn?
    ) async throws -> OperatorSignIn {
        let rows = try await query(
            """
            INSERT INTO operator_sign_in AS s (provider_id, domains, required, created_at,
                updated_at)
            VALUES (\(provider.id), \(domains), \(isRequired), \(now), \(now))
            ON CONFLICT (single) DO UPDATE SET provider_id = excluded.provider_id,
                domains = excluded.domains, required = excluded.required,
                version = s.version + 1, updated_at = excluded.updated_at
            RETURNING \(OperatorSignIn.columns)
            """)
        var changes = AuditChanges()
        changes.add("provider", current?.provider.description, provider.id.description)
        changes.add(
            "domains", JSONValue.array((current?.domains ?? []).map(JSONValue.string)),
            JSONValue.array(domains.map(JSONValue.string)))
        changes.add("required", JSONValue.bool(current?.isRequired ?? false), .bool(isRequired))
        if isRequired { try await endPasswordSessions(of: domains) }
        try await audit(
            .operatorSignInChanged, AuditTarget("provider", provider.id, provider.name), changes)
        return try rows.only(OperatorSignIn.init)
    }

    /// Ends the sessions that began with a password or a link, if the operator's address has one of
    /// these domains. Sessions that began with a passkey or at the provider stay.
    private func endPasswordSessions(of domains: [String]) async throws(PostgresError) {
        try await query(
            """
            DELETE FROM operator_sessions s USING operators o
            WHERE o.id = s.operator_id AND o.confirmed
                AND split_part(o.email_key, '@', 2) = ANY (\(domains))
                AND s.provider_id IS NULL AND s.method <> 'passkey'
            """)
    }

    /// Removes the setting by which operators sign in at the provider. Operators at its domains can
    /// use their passwords again.
    package func deleteOperatorSignIn(_ row: OperatorSignIn) async throws {
        try await query("DELETE FROM operator_sign_in")
        let names = try await query("SELECT name FROM providers WHERE id = \(row.provider)")
        try await audit(
            .operatorSignInRemoved,
            AuditTarget("provider", row.provider, try names.first?.get(0) ?? ""))
    }

    /// Binds an account at the provider to its operator, at the first sign-in there. Returns false
    /// if the operator is already bound to another account, or if the account belongs to another
    /// operator or was invalidated. Invalidates the operator's sign-in links, since they sign in
    /// without the provider.
    package func bind(
        _ person: OperatorRow, issuer: String, subject: String, provider: String
    ) async throws -> Bool {
        _ = try await lockFactors(of: person.id)
        try await requireProof(of: person)
        let bound = try await query(
            """
            INSERT INTO operator_identities (issuer, subject, operator_id, created_at)
            VALUES (\(issuer), \(subject), \(person.id), \(now)) ON CONFLICT DO NOTHING RETURNING 1
            """)
        guard !bound.isEmpty else { return false }
        try await endSignInLinks(of: person.id)
        try await renewVersion(of: person.id)
        var changes = AuditChanges()
        changes.add("provider", nil, provider)
        try await audit(.operatorSignInBound, person.target, changes)
        return true
    }

    /// Unbinds the operator's account at the provider. The next sign-in there may bind another
    /// account, but not one that was invalidated. Returns false if no account was bound.
    package func unbind(_ person: OperatorRow) async throws -> Bool {
        let unbound = try await query(
            """
            DELETE FROM operator_identities
            WHERE operator_id = \(person.id) AND NOT disowned RETURNING 1
            """)
        guard !unbound.isEmpty else { return false }
        _ = try await endOperatorSessions(of: person.id)
        try await renewProofs(of: person.id)
        try await audit(.operatorSignInUnbound, person.target)
        return true
    }

    /// Unbinds the operator's account at the provider, and permits the passwords of all domains
    /// again. It is the last resort for an operator who cannot sign in at the provider.
    func reopenPasswords(of person: OperatorRow) async throws {
        _ = try await unbind(person)
        let reopened = try await query(
            """
            UPDATE operator_sign_in s SET required = false, version = s.version + 1,
                updated_at = \(now)
            FROM operators o
            WHERE o.id = \(person.id) AND o.confirmed AND s.required
                AND split_part(o.email_key, '@', 2) = ANY (s.domains)
            RETURNING s.provider_id
            """)
        guard let provider: UUID = try reopened.first?.get(0) else { return }
        let names = try await query("SELECT name FROM providers WHERE id = \(provider)")
        var changes = AuditChanges()
        changes.add("required", .bool(true), .bool(false))
        try await switching(to: .platform).audit(
            .operatorSignInChanged,
            AuditTarget("provider", provider, try names.first?.get(0) ?? ""), changes)
    }
}

/// The browsers that each operator has used, identified by the hash of a cookie. An IP address
/// would say less: behind a carrier's network many people share one.
extension Database {
    /// The maximum number of known browsers per operator. Beyond it, the least recently used
    /// browser is forgotten.
    static let knownDevices = 20
    /// Seconds for which a browser is known after its last sign-in.
    package static let knownDeviceSeconds: Int64 = 90 * 86_400

    /// Whether the operator or, if `person` is nil, any operator has signed in with this browser
    /// within the last 90 days.
    package func isKnownDevice(
        _ device: [UInt8], of person: UUID?
    ) async throws(PostgresError) -> Bool {
        let whose: SQL = person.map { " AND operator_id = \($0)" } ?? ""
        return try await !app.read(
            """
            SELECT 1 FROM operator_devices WHERE device_hash = \(device)
                AND last_at > \(clock().adding(seconds: -Self.knownDeviceSeconds))\(whose) LIMIT 1
            """
        ).isEmpty
    }
}

extension Change {
    /// Records a successful sign-in with the browser. Returns true if the browser was not known.
    func rememberDevice(_ device: [UInt8], of person: UUID) async throws -> Bool {
        let since = now.adding(seconds: -Database.knownDeviceSeconds)
        let known = try await query(
            """
            SELECT 1 FROM operator_devices
            WHERE operator_id = \(person) AND device_hash = \(device) AND last_at > \(since)
            """)
        try await query(
            """
            INSERT INTO operator_devices (operator_id, device_hash, last_at)
            VALUES (\(person), \(device), \(now))
            ON CONFLICT (operator_id, device_hash) DO UPDATE SET last_at = excluded.last_at
            """)
        try await query(
            """
            DELETE FROM operator_devices WHERE operator_id = \(person) AND device_hash IN (
                SELECT device_hash FROM operator_devices WHERE operator_id = \(person)
                ORDER BY last_at DESC, device_hash OFFSET \(Database.knownDevices))
            """)
        return known.isEmpty
    }

    /// Forgets the browsers of the operator, except `kept`, which is the browser that the operator
    /// is using now.
    func forgetDevices(
        of person: UUID, except kept: [UInt8]? = nil
    ) async throws(PostgresError) {
        var sql: SQL = "DELETE FROM operator_devices WHERE operator_id = \(person)"
        if let kept { sql += " AND device_hash <> \(kept)" }
        try await query(sql)
    }
}
