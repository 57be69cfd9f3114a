import Runtime
import Synchronization
import Text

/// One of several processes that use one database. While it listens, it keeps a lease, applies the
/// invalidations of the others, and makes its own changes wait until the others have acknowledged
/// them.
///
/// The lease is renewed over the listening connection. On that connection, the server sends the
/// invalidations of a change before it answers a later renewal. So after a renewal all earlier
/// changes are known, if notifications arrive at all. Something between the service and PostgreSQL
/// may drop them. Therefore the connection must also receive an echo: a test notification that
/// another connection sends to it. A connection that hangs, or that receives no echo, does not
/// renew the lease.
package final class Replica: Sendable {
    package let id = UUID.random()
    private let postgres: Postgres
    private let freshness: Freshness
    /// The length of a lease in nanoseconds.
    private let lease: Int64
    /// Measures the nanoseconds from a change's commit until the other replicas have acknowledged
    /// it.
    private let waits: Histogram
    private let clock: @Sendable () -> Int64
    private let report: @Sendable (_ time: Timestamp, _ nanoseconds: Int64) -> Void
    private let state = Mutex(State())

    private struct State {
        var listener: NotificationListener?
        var isStopped = false
        /// When the current step (catching up, asking for an echo, or renewing) began; `nil` if no
        /// step is in progress.
        var renewing: Int64?
        /// Whether the last echo was received on the listening connection.
        var hasHeard = false
        var renewals = 0
        var waiting: [Int64: Wait] = [:]
        /// The numbers of changes that are applied here but not yet acknowledged to the other
        /// replicas.
        var untold: [Int64] = []
        /// Whether an acknowledgement is being sent.
        var isTelling = false
        /// The start time of the database server that answered last, and when that server first
        /// answered.
        var server: (startedAt: Int64, since: Int64)?
    }

    private struct Wait {
        var pending = PendingAcknowledgements()
        var resume: UnsafeContinuation<Void, Never>?
    }

    static let channel = "gatehouse"
    private static let tidiesEvery = 60

    /// Makes a replica. `clock` returns nanoseconds that never go back and that also count while
    /// the machine sleeps. `report` receives PostgreSQL's time at each renewal, and how many
    /// nanoseconds the renewal took.
    package init(
        postgres: Postgres, lease: Duration, waits: Histogram = Histogram(),
        clock: @escaping @Sendable () -> Int64 = { BootClock.now },
        report: @escaping @Sendable (_ time: Timestamp, _ nanoseconds: Int64) -> Void = { _, _ in }
    ) {
        self.postgres = postgres
        self.lease =
            lease.components.seconds * 1_000_000_000 + lease.components.attoseconds / 1_000_000_000
        self.waits = waits
        self.clock = clock
        self.report = report
        freshness = Freshness(lease: self.lease)
    }

    package var isTrusted: Bool { freshness.isTrusted(at: clock()) }
    package var token: Freshness.Token { freshness.token }

    /// Whether a response with this token and these tags is still fresh, so that it may be sent.
    /// Check this last, just before sending.
    package func isFresh(_ token: Freshness.Token, _ tags: CacheTags) -> Bool {
        freshness.isCurrent(token, tags) && freshness.isTrusted(at: clock())
    }

    /// Begins to listen and to renew the lease. Before `start`, a process caches nothing, and its
    /// changes wait until the leases of all other processes have ended.
    package func start() {
        let listener = postgres.listen(
            channel: Self.channel, echoes: "\(Self.channel)_\(id)",
            onNotify: { [self] in notified($0) },
            onLost: { [self] in
                freshness.lost()
                state.withLock { state in
                    state.renewing = nil
                    state.hasHeard = false
                }
            },
            onReady: { [self] in catchUp() })
        state.withLock { $0.listener = listener }
        postgres.firstLoop.perform { [self] in beat() }
    }

    /// Gives up the lease, so that the others no longer wait for this process.
    package func stop() async {
        let listener = state.withLock { state in
            state.isStopped = true
            return state.listener
        }
        freshness.lost()
        guard listener != nil else { return }
        _ = try? await postgres.query("DELETE FROM replicas WHERE id = \(id)")
    }

    private func beat() {
        let (listener, silentSince, hasHeard) = state.withLock {
            ($0.isStopped ? nil : $0.listener, $0.renewing, $0.hasHeard)
        }
        guard let listener else { return }
        if let silentSince, clock() - silentSince > lease {
            state.withLock { $0.renewing = nil }
            listener.reconnect()
        } else if silentSince == nil {
            if hasHeard { renew(listener) } else { hearFirst(listener) }
        }
        postgres.firstLoop.after(lease / 3) { [self] in beat() }
    }

    /// Renews the lease. The cache is trusted only after an echo has arrived that was sent after
    /// the renewal. If a process makes a change without seeing the renewal, it does not wait for
    /// this replica. Its change then came before the renewal, so the notification of the change
    /// arrives here before the echo. The lease counts from before the renewal was sent.
    private func renew(_ listener: NotificationListener) {
        let sent = clock()
        let turn = state.withLock { state in
            state.renewing = sent
            state.renewals += 1
            return state.renewals
        }
        let microseconds = Int(lease / 1000)
        listener.send(
            """
            INSERT INTO replicas (id, lease_until)
            VALUES (\(id), clock_timestamp() + \(microseconds) * interval '1 microsecond')
            ON CONFLICT (id) DO UPDATE
            SET lease_until = EXCLUDED.lease_until, server = EXCLUDED.server
            RETURNING clock_timestamp()
            """
        ) { [self] answer in
            if case .success(let rows) = answer,
                let time = try? rows.first?.get(0, as: Timestamp.self)
            {
                report(time, clock() - sent)
            }
            guard case .success = answer else { return state.withLock { $0.renewing = nil } }
            if turn % Self.tidiesEvery == 0 { tidy(listener) }
            hear(listener) { [self] in freshness.renewed(sentAt: sent) }
        }
    }

    /// Asks for an echo, and calls `next` if it is received.
    private func hear(_ listener: NotificationListener, _ next: @escaping @Sendable () -> Void) {
        listener.hearItself { [self] echo in
            let isHeard = if case .success = echo { true } else { false }
            let isStopped = state.withLock { state in
                state.renewing = nil
                state.hasHeard = isHeard
                return state.isStopped
            }
            if isHeard, !isStopped { next() }
        }
    }

    private func tidy(_ listener: NotificationListener) {
        listener.send(
            """
            WITH dead AS (DELETE FROM replicas
                WHERE lease_until < clock_timestamp() - interval '1 minute')
            DELETE FROM revocations WHERE at < clock_timestamp() - interval '10 minutes'
            """
        ) { _ in }
    }

    /// Discards the whole cache, since earlier changes may have been missed, and acknowledges
    /// recent changes to the replicas that wait. Called each time that listening begins.
    private func catchUp() {
        // Resets `renewals`, so that `tidy` does not run soon. `tidy` removes replicas whose leases
        // look expired by the clock of a new database server, but such a replica may be running.
        let began = clock()
        let listener = state.withLock { state in
            state.renewals = 0
            state.renewing = began
            return state.listener
        }
        guard let listener else { return }
        listener.send(
            "SELECT seq FROM revocations WHERE at > clock_timestamp() - interval '1 minute'"
        ) { [self] answer in
            guard case .success(let rows) = answer else { return listener.reconnect() }
            freshness.invalidateAll()
            tell(rows.compactMap { try? $0.get(0, as: Int64.self) }, listener)
            hearFirst(listener)
        }
    }

    /// Asks for an echo before the first renewal. A connection that receives none must not renew
    /// the lease, because changes would then wait for a replica that may never acknowledge them.
    private func hearFirst(_ listener: NotificationListener) {
        let began = clock()
        state.withLock { $0.renewing = began }
        hear(listener) { [self] in renew(listener) }
    }

    private func notified(_ text: String) {
        switch InvalidationMessage(text) {
        // An unknown message comes from a newer version of the service and may mean any change, so
        // every cached answer becomes stale.
        case nil: freshness.invalidateAll()
        case .change(let number, let replica, let tags):
            if tags.isEmpty { freshness.invalidateAll() } else { freshness.invalidate(tags) }
            guard replica != id, let listener = state.withLock({ $0.listener }) else { return }
            tell([number], listener)
        case .acknowledged(let number, let replica): acknowledged(number, by: replica)
        }
    }

    /// Acknowledges changes. One transaction acknowledges everything that arrived while the
    /// previous one was being sent, because each NOTIFY locks the whole database at its commit and
    /// wakes every replica.
    private func tell(_ numbers: [Int64], _ listener: NotificationListener) {
        let isTelling = state.withLock { state in
            state.untold += numbers
            return state.isTelling
        }
        if !isTelling { tellGathered(listener) }
    }

    private func tellGathered(_ listener: NotificationListener) {
        let numbers = state.withLock { state in
            defer { state.untold = [] }
            state.isTelling = !state.untold.isEmpty
            return state.untold
        }
        if numbers.isEmpty { return }
        listener.send(
            """
            SELECT pg_notify(\(Self.channel), 'acknowledged ' || number || ' ' || \(id.description))
            FROM unnest(\(numbers)::bigint[]) AS number
            """
        ) { [self] _ in tellGathered(listener) }
    }

    private func acknowledged(_ number: Int64, by replica: UUID) {
        let resume = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            guard state.waiting[number] != nil else { return nil }
            state.waiting[number]?.pending.acknowledged(replica)
            guard state.waiting[number]?.pending.isOver == true else { return nil }
            return state.waiting.removeValue(forKey: number)?.resume
        }
        resume?.resume()
    }

    /// A change that was announced to the other replicas but is not committed yet; they must
    /// acknowledge it.
    package struct PublishedInvalidation: Sendable {
        let number: Int64
        let tags: Set<CacheTag>
    }

    /// Adds the invalidation to the change's transaction. Call `awaitAcknowledgements` or `cancel`
    /// afterwards.
    package func publish(
        _ tags: Set<CacheTag>, in transaction: Transaction
    ) async throws -> PublishedInvalidation {
        let suffix = InvalidationMessage.suffix(by: id, tags)
        let rows = try await transaction.query(
            """
            WITH told AS (INSERT INTO revocations DEFAULT VALUES RETURNING seq)
            SELECT seq, pg_notify(\(Self.channel), 'change ' || seq || ' ' || \(suffix)) FROM told
            """)
        guard let number = try rows.first?.get(0, as: Int64.self) else {
            throw PostgresError(.decoding, "no number for an invalidation")
        }
        // The wait is registered now, because acknowledgements may arrive earlier than the answer
        // to the commit.
        state.withLock { $0.waiting[number] = Wait() }
        return PublishedInvalidation(number: number, tags: tags)
    }

    /// Whether a change must be announced again after its commit. With several database servers,
    /// the change's own transaction may send the notification before all servers show the change.
    /// The notification may also be lost when one server already shows the change.
    package var announcesAgain: Bool { postgres.isDistributed }

    /// Announces a committed change again, in a statement of its own. Throws `.commitUnknown` if
    /// that fails: the change is committed, but replicas may not know of it.
    package func announceAgain(
        _ published: PublishedInvalidation
    ) async throws(PostgresError) -> PublishedInvalidation {
        cancel(published)
        var again: PublishedInvalidation?
        do {
            let open = try await postgres.begin()
            do {
                again = try await publish(published.tags, in: open.transaction)
            } catch {
                await open.rollback()
                throw error
            }
            try await open.commit()
        } catch {
            if let again { cancel(again) }
            throw PostgresError(.commitUnknown, "not announced: \(error)")
        }
        return again ?? published
    }

    /// Ends the wait for acknowledgements. Call this if the change was not committed, or if its
    /// outcome is unknown.
    package func cancel(_ published: PublishedInvalidation) {
        freshness.invalidate(Array(published.tags))
        state.withLock { _ = $0.waiting.removeValue(forKey: published.number) }
    }

    /// Waits until no other replica answers with the state before the change. Call this after the
    /// commit.
    package func awaitAcknowledgements(_ published: PublishedInvalidation) async {
        freshness.invalidate(Array(published.tags))
        let committed = clock()
        defer { waits.record(nanoseconds: clock() - committed) }
        let others = await activeOthers()
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isOver = state.withLock { state in
                state.waiting[published.number]?.pending.wait(for: others.map(\.id))
                if state.waiting[published.number]?.pending.isOver ?? true {
                    state.waiting[published.number] = nil
                    return true
                }
                state.waiting[published.number]?.resume = continuation
                return false
            }
            if isOver { return continuation.resume() }
            postgres.firstLoop.perform { [self] in
                for other in others {
                    postgres.firstLoop.after(other.remaining) { [self] in
                        acknowledged(published.number, by: other.id)
                    }
                }
            }
        }
    }

    private struct Other {
        var id: UUID
        /// Nanoseconds until the replica's lease ends.
        var remaining: Int64
    }

    /// Returns the replicas that may still answer from their caches. If the database cannot list
    /// them, one unknown replica whose lease began just now represents them all. The end of a lease
    /// depends on the clock of the server that granted it. After a failover or a restart, the
    /// current server may have another clock. So a lease that an earlier server granted counts as
    /// active until one lease length after the current server first answered.
    private func activeOthers() async -> [Other] {
        let unknown = [Other(id: UUID(high: 0, low: 0), remaining: lease)]
        guard
            let rows = try? await postgres.query(
                """
                SELECT id, (extract(epoch FROM lease_until - clock_timestamp()) * 1000000)::bigint,
                    server = pg_postmaster_start_time(),
                    (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
                FROM replicas WHERE id <> \(id)
                    AND (lease_until > clock_timestamp() OR server <> pg_postmaster_start_time())
                """)
        else { return unknown }
        var others: [Other] = []
        for row in rows {
            guard let other = try? row.get(0, as: UUID.self),
                let microseconds = try? row.get(1, as: Int64.self),
                let isOfThisServer = try? row.get(2, as: Bool.self),
                let startedAt = try? row.get(3, as: Int64.self)
            else { return unknown }
            // Add a millisecond, because the time was rounded down.
            var remaining = (microseconds + 1000) * 1000
            if !isOfThisServer {
                // A replica of an older version renews its lease without updating `server`, so the
                // lease may be one of this server.
                remaining = max(remainingElsewhere(startedAt), min(lease, remaining))
            }
            if remaining > 0 { others.append(Other(id: other, remaining: remaining)) }
        }
        return others
    }

    /// Returns the nanoseconds until the last lease from an earlier database server has ended. The
    /// current server started at `startedAt`.
    private func remainingElsewhere(_ startedAt: Int64) -> Int64 {
        let now = clock()
        return state.withLock { state in
            guard let server = state.server, server.startedAt == startedAt else {
                state.server = (startedAt, since: now)
                return lease
            }
            return server.since + lease - now
        }
    }
}

/// This machine's clock, corrected by its difference from PostgreSQL's. So all replicas compare
/// stored times, such as a key's expiry, by one clock, even if their own clocks are wrong.
package final class DatabaseClock: Sendable {
    /// The least difference that is corrected, in microseconds; a smaller one may come from the
    /// network's delay.
    private static let least: Int64 = 250_000

    private let machine: @Sendable () -> Timestamp
    private let changed: @Sendable (_ microseconds: Int64) -> Void
    private let difference = Atomic<Int64>(0)

    /// Makes a clock. `changed` receives each new difference: PostgreSQL's time minus this
    /// machine's, in microseconds.
    package init(
        _ machine: @escaping @Sendable () -> Timestamp,
        changed: @escaping @Sendable (_ microseconds: Int64) -> Void = { _ in }
    ) {
        self.machine = machine
        self.changed = changed
    }

    package var now: Timestamp {
        Timestamp(microseconds: machine().microseconds + difference.load(ordering: .relaxed))
    }

    /// Updates the difference. `time` is PostgreSQL's clock, read by a statement that was answered
    /// just now and took `nanoseconds`.
    package func learn(_ time: Timestamp, within nanoseconds: Int64) {
        let half = nanoseconds / 2000
        let measured = time.microseconds + half - machine().microseconds
        let tolerance = max(Self.least, half)
        guard abs(measured - difference.load(ordering: .relaxed)) > tolerance else { return }
        let new = abs(measured) <= tolerance ? 0 : measured
        difference.store(new, ordering: .relaxed)
        changed(new)
    }
}

/// The acknowledgements of one invalidation: those that have arrived and those that are missing.
package struct PendingAcknowledgements: Sendable, Hashable {
    private var acknowledged: Set<UUID> = []
    private var active: Set<UUID>?

    package init() {}

    /// Records that the replica acknowledged, or that its lease has ended.
    package mutating func acknowledged(_ replica: UUID) { acknowledged.insert(replica) }

    /// Sets the replicas that must acknowledge: those whose leases were active after the commit.
    package mutating func wait(for replicas: [UUID]) { active = Set(replicas) }

    package var isOver: Bool { active.map { $0.isSubset(of: acknowledged) } ?? false }
}

/// A message between replicas, as text of at most 8,000 bytes.
enum InvalidationMessage: Equatable {
    /// `change 17 <replica> <id> <id> …`: these objects were changed. Without ids, any object may
    /// have changed.
    case change(number: Int64, by: UUID, tags: [CacheTag])
    /// `acknowledged 17 <replica>`: the replica no longer answers with the state before the change.
    case acknowledged(number: Int64, by: UUID)

    /// The most objects that one message names. A larger change invalidates the whole cache.
    static let tagLimit = 150

    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count >= 3, let number = Int64(words[1]), let replica = UUID(words[2]) else {
            return nil
        }
        switch words[0] {
        case "change":
            let tags = words[3...].compactMap { UUID($0).map(CacheTag.init) }
            guard tags.count == words.count - 3 else { return nil }
            self = .change(number: number, by: replica, tags: tags)
        case "acknowledged": self = .acknowledged(number: number, by: replica)
        default: return nil
        }
    }

    /// Returns the fields of a change that follow its number.
    static func suffix(by replica: UUID, _ tags: Set<CacheTag>) -> String {
        let named = tags.count > tagLimit ? [] : tags
        return ([replica] + named.map(\.id)).map(\.description).joined(separator: " ")
    }
}
