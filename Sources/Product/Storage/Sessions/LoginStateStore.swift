import Postgres
import Text

/// The stored state of a sign-in that has begun at a provider or on a device and is not completed.
package struct LoginState: Sendable {
    /// The hash of the `state` parameter, or of the device code.
    package var hash: [UInt8]
    /// The name of the client that began the sign-in.
    var client: String
    package var provider: UUID
    /// The redirect URI as registered for the client; empty for a sign-in with a device code.
    package var redirectURI: String
    /// The `nonce` of OpenID Connect, which the id token must contain.
    package var nonce: String
    /// The S256 challenge of PKCE, if the app has the verifier.
    package var challenge: String?
    /// The encrypted verifier of PKCE, if the server has it.
    package var secrets: [UInt8]?
    /// The app's own id of the device; `nil` if the app gives none.
    package var device: String?
    /// The hash of the secret in the browser's cookie. Without that cookie the sign-in cannot be
    /// completed.
    var browserHash: [UInt8]?
    /// The hash of the token of the invite or join link on whose page the sign-in began.
    package var token: BroughtToken?
    /// The console session that requires this sign-in as a step-up.
    package var operatorSession: UUID?
    /// The hash of the link grant on whose page the sign-in began.
    package var grantHash: [UInt8]?
    /// Whether the provider must ask the person to sign in again.
    package var isAskedAnew = false
    /// When the sign-in began; `nil` before it is stored.
    package private(set) var begunAt: Timestamp?

    /// Pass nil for values that the flow does not use.
    package init(
        hash: [UInt8], client: String, provider: UUID, redirectURI: String, nonce: String,
        challenge: String? = nil, secrets: [UInt8]? = nil, device: String? = nil,
        browserHash: [UInt8]? = nil, token: BroughtToken? = nil, operatorSession: UUID? = nil
    ) {
        self.hash = hash
        self.client = client
        self.provider = provider
        self.redirectURI = redirectURI
        self.nonce = nonce
        self.challenge = challenge
        self.secrets = secrets
        self.device = device
        self.browserHash = browserHash
        self.token = token
        self.operatorSession = operatorSession
    }

    static let columns: SQL =
        """
        state_hash, client, provider_id, redirect_uri, nonce, challenge, secrets, device,
        browser_hash, invite_hash, join_hash, operator_session, created_at, grant_hash, asked_anew
        """

    init(_ row: Row) throws(PostgresError) {
        (hash, client, provider, redirectURI, nonce, challenge) = try row.columns()
        secrets = try row.get(6, as: [UInt8]?.self)
        device = try row.get(7)
        browserHash = try row.get(8, as: [UInt8]?.self)
        if let hash = try row.get(9, as: [UInt8]?.self) {
            token = .invite(hash)
        } else {
            token = try row.get(10, as: [UInt8]?.self).map { .join($0) }
        }
        (operatorSession, begunAt) = try row.columns(from: 11)
        grantHash = try row.get(13, as: [UInt8]?.self)
        isAskedAnew = try row.get(14)
    }
}

extension TenantScope {
    /// Seconds until a sign-in expires.
    package static var loginSeconds: Int64 { 600 }

    /// Stores the state. Returns false if its hash is stored already, which means that the client
    /// did not choose the `state` at random.
    package func begin(_ state: LoginState) async throws -> Bool {
        let now = database.clock()
        _ = try await write(
            "DELETE FROM login_states WHERE tenant_id = \(tenant) AND expires_at <= \(now)")
        let rows = try await write(
            """
            INSERT INTO login_states (tenant_id, state_hash, client, provider_id, redirect_uri,
                nonce, challenge, secrets, device, browser_hash, invite_hash, join_hash,
                operator_session, grant_hash, asked_anew, created_at, expires_at)
            VALUES (\(tenant), \(state.hash), \(state.client), \(state.provider),
                \(state.redirectURI), \(state.nonce), \(state.challenge), \(state.secrets),
                \(state.device), \(state.browserHash), \(state.token?.inviteHash),
                \(state.token?.joinHash), \(state.operatorSession), \(state.grantHash),
                \(state.isAskedAnew), \(now), \(now.adding(seconds: Self.loginSeconds)))
            ON CONFLICT DO NOTHING RETURNING 1
            """)
        return rows.count == 1
    }

    /// Records that the person had signed in at the provider too long ago. The next sign-in from
    /// `place` then makes the provider ask the person again. This is for an app that received the
    /// redirect itself, and so cannot be redirected again. `place` is a hash of the client and its
    /// IP address. The record lasts as long as a pending sign-in.
    package func noteStaleSignIn(_ place: [UInt8], at provider: UUID) async throws {
        let now = database.clock()
        _ = try await write(
            """
            INSERT INTO login_states (tenant_id, state_hash, client, provider_id, redirect_uri,
                nonce, created_at, expires_at)
            VALUES (\(tenant), \(place), \(Self.staleClient), \(provider), '', '', \(now),
                \(now.adding(seconds: Self.loginSeconds)))
            ON CONFLICT DO NOTHING
            """)
    }

    /// Whether `noteStaleSignIn` was called for `place` within the last minutes. Removes the
    /// record.
    package func forgetStaleSignIn(_ place: [UInt8], at provider: UUID) async throws -> Bool {
        let rows = try await write(
            """
            DELETE FROM login_states WHERE tenant_id = \(tenant) AND state_hash = \(place)
                AND client = \(Self.staleClient) AND provider_id = \(provider)
                AND expires_at > \(database.clock())
            RETURNING 1
            """)
        return rows.count == 1
    }

    /// The client's name in the records of `noteStaleSignIn`. No client has this name, so such a
    /// row is never used as a sign-in.
    private static var staleClient: String { "stale sign-in" }

    /// Removes and returns a state; one DELETE decides which of several requests gets it. Returns
    /// nil if the state is unknown, expired or used, or belongs to another client or browser.
    /// `browser` is the hash of the cookie; it is not checked if the app has the verifier, which
    /// then proves who began the sign-in.
    package func consumeLogin(
        _ hash: [UInt8], client: String, browser: [UInt8]? = nil
    ) async throws -> LoginState? {
        let rows = try await write(
            """
            DELETE FROM login_states WHERE tenant_id = \(tenant) AND state_hash = \(hash)
                AND client = \(client) AND expires_at > \(database.clock())
                AND (challenge IS NOT NULL OR browser_hash IS NOT DISTINCT FROM \(browser))
            RETURNING \(LoginState.columns)
            """)
        return try rows.first.map(LoginState.init)
    }

    /// Whether a provider may be asked now about a sign-in with a device code. Returns false until
    /// `seconds` have passed since any replica last asked.
    package func mayAsk(_ hash: [UInt8], client: String, every seconds: Int64) async throws -> Bool
    {
        let now = database.clock()
        let rows = try await write(
            """
            UPDATE login_states SET asked_at = \(now)
            WHERE tenant_id = \(tenant) AND state_hash = \(hash) AND client = \(client)
                AND (asked_at IS NULL OR asked_at <= \(now.adding(seconds: -seconds)))
            RETURNING 1
            """)
        return rows.count == 1
    }

    /// The state with this hash; `nil` if the state is unknown or expired, or belongs to another
    /// client. The state is not removed, since a device asks repeatedly until its user has decided.
    package func login(_ hash: [UInt8], client: String) async throws(PostgresError) -> LoginState? {
        let rows = try await read(
            """
            SELECT \(LoginState.columns) FROM login_states
            WHERE tenant_id = \(tenant) AND state_hash = \(hash) AND client = \(client)
                AND expires_at > \(database.clock())
            """)
        return try rows.first.map(LoginState.init)
    }
}
