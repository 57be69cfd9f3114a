import Cryptography
import Postgres
import Text

/// A request for a password reset that is not answered yet.
package struct ResetAsk: Sendable {
    package var id: UUID
    /// The nil tenant: for an operator; another: for its user and its own operator.
    package var tenant: UUID
    package var emailKey: String
    /// Where the page of a user's reset leads in the end; nil: nowhere.
    var returnTo: String?
}

/// Requests for resets have their own queue, so that they neither delay mails nor wait for them.
/// Most have no effect: a request for an unknown address costs one look-up.
extension Database {
    /// Requests for one address and tenant that are answered per hour; more are dropped.
    static let resetsAnHour = MailLimit.ownAsks
    /// The most requests that may wait.
    package static let waitingResetAsks = 10_000
    /// Seconds for which a replica leases the requests that it took.
    private static let resetAskLease: Int64 = 60
    package static let resetAskBatch = 50

    /// Stores a request for a reset; false if too many requests wait. Does the same whether or not
    /// there is an account. `tenant` nil: an operator's.
    package func askForReset(
        emailKey: String, tenant: UUID?, returnTo: String? = nil
    ) async throws -> Bool {
        let key = "\(tenant ?? .platform) \(emailKey)"
        let about = SHA256.authenticate(Array("reset \(key)".utf8), key: directoryKey)
        let now = clock()
        let rows = try await app.query(
            """
            WITH many AS (SELECT 1 FROM reset_asks WHERE next_at IS NOT NULL
                    OFFSET \(Self.waitingResetAsks - 1) LIMIT 1),
                recent AS (SELECT count(*) AS number FROM reset_asks
                    WHERE about = \(about) AND created_at > \(now.adding(seconds: -3600))),
                written AS (
                    INSERT INTO reset_asks (id, tenant_id, about, email_key, return_to, next_at,
                        created_at)
                    SELECT \(UUID.random()), \(tenant ?? .platform), \(about), \(emailKey),
                        \(returnTo), \(now), \(now)
                    WHERE NOT EXISTS (SELECT FROM many)
                        AND (SELECT number FROM recent) < \(Self.resetsAnHour))
            SELECT EXISTS (SELECT FROM many)
            """)
        return try !(rows.only { try $0.get(0, as: Bool.self) })
    }

    /// Takes requests in their order. Each goes to only one replica until its lease is over.
    package func takeResetAsks() async throws(PostgresError) -> [ResetAsk] {
        let now = clock()
        let rows = try await app.query(
            """
            UPDATE reset_asks SET next_at = \(now.adding(seconds: Self.resetAskLease))
            WHERE id = ANY (ARRAY(SELECT id FROM reset_asks WHERE next_at <= \(now)
                ORDER BY next_at, id LIMIT \(Self.resetAskBatch) FOR UPDATE SKIP LOCKED))
            RETURNING id, tenant_id, email_key, return_to
            """)
        return try rows.map { row throws(PostgresError) in
            ResetAsk(
                id: try row.get(0), tenant: try row.get(1), emailKey: try row.get(2),
                returnTo: try row.get(3, as: String?.self))
        }
    }

    /// Turns a request into a mail with a link if an account may have one, and ends it.
    package func answer(_ ask: ResetAsk, publicURL: String) async throws {
        try await scope(ask.tenant).change(by: .system) { change in
            let ended = try await change.query(
                """
                UPDATE reset_asks SET email_key = NULL, next_at = NULL
                WHERE id = \(ask.id) AND next_at IS NOT NULL RETURNING 1
                """)
            guard !ended.isEmpty else { return }
            if ask.tenant == .platform {
                try await change.offerOperatorReset(ask.emailKey, publicURL, self)
            } else {
                try await change.offerUserReset(
                    ask.emailKey, returnTo: ask.returnTo, publicURL, self)
                try await change.offerOperatorReset(ask.emailKey, publicURL, self)
            }
        }
    }
}
