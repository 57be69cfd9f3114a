import Domain
import Postgres
import Synchronization
import Text

/// Successful sign-ins that this process saw and has not written yet. They are written in batches,
/// so that a user who signs in repeatedly costs at most one write a minute.
package final class SignIns: Sendable {
    /// The last unwritten sign-in of one identity.
    struct Pending: Sendable {
        var user: UUID
        var at: Timestamp
        /// The address as the provider reported it; if nil, the stored address does not change.
        var email: String?
        var isTrustedAddress: Bool
    }

    /// Unwritten sign-ins by identity.
    typealias Batch = [UUID: Pending]

    /// The most identities that are buffered; the sign-ins of others are not recorded.
    static let limit = 100_000
    /// The maximum number of rows that one statement writes.
    static let batch = 500

    let writing = CountWriting()
    private let pending = Mutex<(count: Int, batches: [UUID: Batch])>((0, [:]))

    func note(_ identity: UUID, _ signIn: Pending, of tenant: UUID) {
        pending.withLock { state in
            if let known = state.batches[tenant]?[identity] {
                // A sign-in that is put back after a failed write must not replace a later one.
                guard known.at <= signIn.at else { return }
            } else {
                guard state.count < Self.limit else { return }
                state.count += 1
            }
            state.batches[tenant, default: [:]][identity] = signIn
        }
    }

    /// The tenants with sign-ins that are not written yet.
    var tenants: Set<UUID> { pending.withLock { Set($0.batches.keys) } }

    /// Removes and returns up to `batch` of the tenant's unwritten sign-ins, for the caller to
    /// write.
    func take(_ tenant: UUID) -> Batch {
        pending.withLock { state in
            var left = state.batches.removeValue(forKey: tenant) ?? [:]
            guard left.count > Self.batch else {
                state.count -= left.count
                return left
            }
            let taken = Batch(uniqueKeysWithValues: left.prefix(Self.batch).map { ($0, $1) })
            for identity in taken.keys { left[identity] = nil }
            state.batches[tenant] = left
            state.count -= taken.count
            return taken
        }
    }
}

extension ProvisioningResult {
    /// The identity that signed in, and the sign-in to record. `nil` for a refusal, an open choice,
    /// an invite accepted at its page, or an unproved native sign-up.
    func signIn(by call: ProvisioningCall, at now: Timestamp) -> (UUID, SignIns.Pending)? {
        guard [.federated, .nativeProved].contains(call.trigger), verdict.maySignIn,
            let user, let identityID
        else { return nil }
        return (
            identityID,
            SignIns.Pending(
                user: user.id, at: now, email: isAddressSound ? call.email : nil,
                isTrustedAddress: isAddressTrusted)
        )
    }
}

extension Database {
    /// Buffers the sign-in of a result, if it was a successful one.
    package func noteSignIn(_ result: ProvisioningResult, by call: ProvisioningCall) {
        guard let tenant = result.verdict.tenantID,
            let (identity, signIn) = result.signIn(by: call, at: clock())
        else { return }
        signIns.note(identity, signIn, of: tenant)
    }

    /// Writes the sign-ins of one tenant or, if `tenant` is nil, of all tenants. Called every few
    /// seconds, before a single user is shown, and when the service stops. Sign-ins that cannot be
    /// written stay for the next call. Returns the first error that is not an outage of the
    /// database.
    @discardableResult
    package func writeSignIns(of tenant: UUID? = nil) async -> (any Error)? {
        await signIns.writing.write(of: tenant, among: signIns.tenants) { tenant in
            let batch = signIns.take(tenant)
            if batch.isEmpty { return false }
            do {
                // All writers use the same order, which prevents deadlocks.
                try await write(
                    batch.sorted { ($0.value.user, $0.key) < ($1.value.user, $1.key) }, of: tenant)
                return batch.count == SignIns.batch
            } catch {
                for (identity, signIn) in batch { signIns.note(identity, signIn, of: tenant) }
                throw error
            }
        }
    }

    private func write(
        _ rows: [(key: UUID, value: SignIns.Pending)], of tenant: UUID
    ) async throws {
        let (users, times) = (rows.map(\.value.user), rows.map(\.value.at))
        // A user's time is written at most once a minute. The limit is computed here and not with
        // an interval in SQL: a distributed database refuses an update that depends on both a
        // column and the session's time zone.
        let before = times.map { $0.adding(seconds: -60) }
        try await app.tenantTransaction(tenant) { transaction in
            try await transaction.query(
                """
                SELECT 1 FROM users WHERE tenant_id = \(tenant) AND id = ANY (\(users))
                ORDER BY id FOR UPDATE
                """)
            try await transaction.query(
                """
                UPDATE users u SET last_sign_in_at = seen.at
                FROM (SELECT id, max(at) AS at, max(before) AS before
                    FROM unnest(\(users)::uuid[], \(times)::timestamptz[], \(before)::timestamptz[])
                        AS given (id, at, before)
                    GROUP BY id) AS seen
                WHERE u.tenant_id = \(tenant) AND u.id = seen.id
                    AND (u.last_sign_in_at IS NULL OR u.last_sign_in_at < seen.before)
                """)
            try await transaction.query(
                """
                UPDATE identities i SET last_used_at = greatest(i.last_used_at, seen.at),
                    email = coalesce(nullif(seen.email, ''), i.email),
                    email_vouched = CASE WHEN seen.email = '' THEN i.email_vouched
                        ELSE seen.proved = 1 END
                FROM (SELECT * FROM unnest(\(rows.map(\.key))::uuid[], \(times)::timestamptz[], \(before)::timestamptz[],
                    \(rows.map { $0.value.email ?? "" })::text[],
                    \(rows.map { $0.value.isTrustedAddress ? Int64(1) : 0 })::bigint[])
                    AS given (id, at, before, email, proved)) AS seen
                WHERE i.tenant_id = \(tenant) AND i.id = seen.id
                    AND (i.last_used_at IS NULL OR i.last_used_at < seen.before
                        OR seen.email <> '' AND (i.email IS DISTINCT FROM seen.email
                            OR i.email_vouched <> (seen.proved = 1)))
                """)
        }
    }
}
