import Cryptography
import Domain
import JSON
import Postgres
import Text

/// A recorded response. A retry gets exactly the same bytes.
struct RecordedResponse: Sendable {
    var tenant: UUID
    var decision: UUID
    var answer: String
    var reference: String
    var recorded: Retry.Recorded
}

extension ProvisioningCall {
    /// The digest (32 bytes) that identifies a retry of the same call.
    func retryDigest(_ named: ResolvedAttempt) -> [UInt8] {
        var bytes = Array(callerName.utf8) + [0]
        if let eventID {
            let key = named.attempt.identity
            for text in ["event", key.provider.rawValue, key.issuer, key.subject, eventID] {
                bytes += Array(text.utf8) + [0]
            }
        } else {
            bytes += Retry.digestInput(
                attempt: named.attempt, tenant: tenant, tokenHash: named.tokenHash,
                joinHash: named.joinHash)
        }
        return SHA256.hash(bytes)
    }
}

/// What is stored about earlier calls of one person.
struct EarlierCalls: Sendable {
    /// The answer to an earlier identical call; `nil` if there was none, or if no digest was given.
    var recorded: RecordedResponse?
    /// The tenants among which the person has been asked to choose.
    var pendingChoices: [UUID]
    /// The tenants that the person declined, each with the time.
    var declined: [UUID: Timestamp]

    init(_ rows: Rows) throws(PostgresError) {
        guard let row = rows.first else { throw PostgresError(.decoding, "no earlier calls") }
        pendingChoices = try row.get(5)
        let times: [Timestamp] = try row.get(7)
        declined = Dictionary(
            zip(try row.get(6, as: [UUID].self), times), uniquingKeysWith: { $1 })
        guard let tenant = try row.get(0, as: UUID?.self) else { return }
        let stored = try row.json(4)
        func id(_ name: String) -> UUID? { stored[name]?.string.flatMap { UUID($0) } }
        guard let outcome = stored["outcome"]?.string.flatMap(Outcome.init) else { return }
        recorded = RecordedResponse(
            tenant: tenant, decision: try row.get(1), answer: try row.get(2),
            reference: try row.get(3),
            recorded: Retry.Recorded(
                outcome: outcome, reason: stored["reason"]?.string.flatMap(Reason.init),
                tenantID: id("tenant"), userID: id("user"), inviteID: id("invite"),
                choices: (stored["choices"]?.array ?? []).compactMap {
                    $0.string.flatMap { UUID($0) }
                }))
    }
}

extension Change {
    /// Sends the query that `EarlierCalls` decodes. A digest of an event id finds its answer as
    /// long as the row exists. Any other digest finds its answer only within the time for retries.
    /// Without a digest no answer is read. With `locking`, the query locks the person first.
    func askEarlier(
        _ digest: [UInt8]?, isEvent: Bool, identity: [UInt8] = [], address: [UInt8] = [],
        locking: Bool = false
    ) -> AskedRows {
        let since = isEvent ? Timestamp(microseconds: 0) : now.adding(seconds: -Retry.window)
        return ask(
            """
            SELECT tenant, decision, answer, reference, recorded, pending, declined, declined_at
            FROM provisioning_earlier(\(locking), \(identity), \(address), \(digest), \(since), \(now))
            """)
    }

    func recordedAnswer(
        _ digest: [UInt8], isEvent: Bool
    ) async throws(PostgresError) -> RecordedResponse? {
        try await EarlierCalls(askEarlier(digest, isEvent: isEvent).rows()).recorded
    }

    func record(_ result: ProvisioningResult, for digest: [UInt8]) async throws(PostgresError) {
        let verdict = result.verdict
        func id(_ id: UUID?) -> JSONValue { id.map { .string($0.description) } ?? .null }
        let recorded = JSONValue.object([
            .init("outcome", .string(verdict.outcome.rawValue)),
            .init("reason", verdict.reason.map { .string($0.rawValue) } ?? .null),
            .init("tenant", id(verdict.tenantID)), .init("user", id(verdict.userID)),
            .init("invite", id(verdict.inviteID)),
            .init("choices", .array(verdict.choices.map { id($0) })),
        ])
        queryLater(
            """
            INSERT INTO provisioning_retries (digest, tenant_id, decision_id, answer, reference,
                recorded, created_at)
            VALUES (\(digest), \(verdict.tenantID ?? .platform), \(result.decisionID),
                \(result.answer), \(result.reference), \(JSONB(recorded)), \(now))
            ON CONFLICT (digest) DO UPDATE SET tenant_id = excluded.tenant_id,
                decision_id = excluded.decision_id, answer = excluded.answer,
                reference = excluded.reference, recorded = excluded.recorded,
                created_at = excluded.created_at
            """)
    }

    /// Records that an identical attempt followed a decision. Each such attempt has its own row,
    /// since a decision is never updated.
    func countRepeat(of decision: UUID) {
        queryLater(
            """
            INSERT INTO provisioning_attempts (decision_id, id, at)
            VALUES (\(decision), \(UUID.ordered(at: now)), \(now))
            """)
    }
}
