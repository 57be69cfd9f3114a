import Runtime
import Synchronization
import Text

/// Standbys of the database behind one address, as the app's role and the platform's role read
/// them.
///
/// They serve reads that may lag, from a given position on. Where they cannot, the primary does: a
/// standby never makes a read fail.
package final class Standbys: Sendable {
    private let app: Postgres
    private let platform: Postgres
    private let measures: StandbyMeasures
    /// Whether a read was lost there. Until `look` gets an answer, none is sent, because each could
    /// wait for a silent server.
    private let isAway = Atomic<Bool>(false)
    /// Sampled by `follow`; before the first sample no standby is read.
    package let positions: PrimaryPositions

    /// Both configurations get limits of their own: few connections to the standby, and timeouts
    /// that leave the primary time to answer instead.
    package init(
        app: PostgresConfiguration, platform: PostgresConfiguration, loops: [EventLoop],
        positions: PrimaryPositions, measures: StandbyMeasures = StandbyMeasures()
    ) {
        self.app = Postgres(configuration: Self.limited(app), loops: loops)
        self.platform = Postgres(configuration: Self.limited(platform), loops: loops)
        self.positions = positions
        self.measures = measures
    }

    /// The most connections to a standby, for each role and each loop; one stays open.
    package static let connectionsPerLoop = 2

    private static func limited(_ given: PostgresConfiguration) -> PostgresConfiguration {
        var configuration = given
        configuration.budget = nil
        configuration.readsPerLoop = connectionsPerLoop
        configuration.readsAtRest = 1
        configuration.transactionsPerLoop = 0
        configuration.statementTimeout = 1000
        configuration.silence = 250
        configuration.acquireTimeout = 1000
        return configuration
    }

    package enum Role: Sendable { case app, platform }

    /// The rows as of `position` or later; `nil` if the primary must be read instead. `tenant` is
    /// the value of `app.tenant` while the statement runs. `position` is `nil` if the caller did
    /// not say.
    package func read(
        _ sql: SQL, by role: Role, in tenant: UUID? = nil, from position: WALPosition?
    ) async -> Rows? {
        guard let position, let least = positions.least, Deadline.current?.isOver != true else {
            measures.primary.increment()
            return nil
        }
        if isAway.load(ordering: .relaxed) { return fallBack(.unavailable) }
        let pool = (role == .app ? app : platform).pool(forReads: true)
        let answer: Answer = await withUnsafeContinuation { continuation in
            let statement = Statement(sql, .read, in: tenant) {
                continuation.resume(returning: $0)
            }
            statement.follow(Trace.current)
            pool.loop.run { pool.readReplayed(statement, max(position, least)) }
        }
        switch answer {
        case .success(let rows):
            measures.standby.increment()
            return rows
        case .failure(let error):
            let cause = StandbyFallback(error)
            if cause == .unavailable, error != .noStandby {
                isAway.store(true, ordering: .relaxed)
            }
            return fallBack(cause)
        }
    }

    private func fallBack(_ cause: StandbyFallback) -> Rows? {
        measures.primary.increment()
        measures.fallbacks[cause]?.increment()
        return nil
    }

    /// What the standby has replayed, asked over one of its connections; `nil` if it does not
    /// answer.
    @discardableResult
    package func look() async -> WALPosition? {
        let replayed = try? await app.replayed()
        isAway.store(replayed == nil, ordering: .relaxed)
        return replayed
    }

    /// Notes where the primary is, and how far the standby is behind it; called every second.
    package func follow(_ primary: Postgres) async throws(PostgresError) {
        positions.note(try await primary.flushedPosition())
        guard let replayed = await look() else { return }
        let lag = positions.lag(of: replayed)
        measures.lagBytes.set(lag.bytes)
        measures.lagSeconds.set(lag.seconds)
    }

    package func close() async {
        await app.close()
        await platform.close()
    }
}

/// Why a read that a standby could have answered went to the primary.
package enum StandbyFallback: String, CaseIterable, Sendable {
    /// It had not replayed what the caller changed, or was older than the limit.
    case lag
    /// No connection, or none with room.
    case unavailable
    /// Replay had to change what the statement was reading.
    case conflict
    case timeout
    /// The standby refused the statement, or another one of its batch. The primary may do so too.
    case refused

    init(_ error: PostgresError) {
        self =
            switch error.kind {
            case _ where error == .notReplayed: .lag
            case _ where error == .batchAborted: .refused
            case _ where error.isRetryable: .conflict
            case .timeout: .timeout
            case _ where error.fault?.description == "postgres.writes_refused": .refused
            case .unavailable: .unavailable
            default: .refused
            }
    }
}

/// The metrics of reads that may lag.
package struct StandbyMeasures: Sendable {
    package var standby = Counter()
    package var primary = Counter()
    package var fallbacks: [StandbyFallback: Counter] = [:]
    package var lagBytes = Gauge()
    package var lagSeconds = Gauge()

    package init() {}
}

/// How far the server of one connection has replayed the primary's log. It only grows: a server
/// that restarts closes its connections. Other connections say nothing about it, since an address
/// may stand for several standbys.
struct Replay {
    /// Asked of a standby. The ELSE branch is for a server that was promoted: it has exactly what
    /// it has written.
    static let question: SQL = """
        SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
            ELSE pg_current_wal_insert_lsn() END
        """

    /// The server has replayed at least this much.
    var known = WALPosition.start
    /// Reads that need more than is known, until the pending question is answered.
    var waiting: [(needed: WALPosition, statement: Statement)] = []
}

extension Postgres {
    /// What this server has replayed or, as the primary, written; `nil` before a standby's first
    /// record.
    package func replayed() async throws(PostgresError) -> WALPosition? {
        try await read(Replay.question).first?.get(0)
    }
}

extension PostgresError {
    /// A standby has not replayed what a read needs.
    static let notReplayed = PostgresError(
        .unavailable, "not replayed yet", "standby.not_replayed")
    /// No connection to a standby is open, or none has room.
    static let noStandby = PostgresError(.unavailable, "no connection", "standby.not_connected")
}

extension PostgresConnection {
    /// Submits a read that needs a position. If the position is not known to be replayed, the
    /// server is asked first. A guard in the read's own batch would save that round trip, but it
    /// could stop the read only by an error, which fills the standby's log and fails the batch's
    /// other reads.
    func submit(_ statement: Statement, replayed needed: WALPosition) {
        if replay.known >= needed { return submit(statement) }
        replay.waiting.append((needed, statement))
        if replay.waiting.count > 1 { return }
        let question = Statement(Replay.question, .read) { [weak self] in self?.replayed($0) }
        question.retried = true
        submitAlone(question)
    }

    /// Sends the reads whose positions are replayed; the others fail.
    private func replayed(_ answer: Answer) {
        let waiting = replay.waiting
        replay.waiting = []
        do throws(PostgresError) {
            guard let position = try answer.get().first?.get(0, as: WALPosition?.self) else {
                throw .notReplayed
            }
            replay.known = max(replay.known, position)
        } catch {
            for read in waiting { read.statement.complete(.failure(error)) }
            return
        }
        for read in waiting {
            if replay.known >= read.needed {
                submit(read.statement)
            } else {
                read.statement.complete(.failure(.notReplayed))
            }
        }
    }
}

extension Pool {
    /// A read at a standby: sent on an open connection or not at all, and never sent twice.
    func readReplayed(_ statement: Statement, _ needed: WALPosition) {
        statement.retried = true
        guard !closed, let reader = leastLoaded() else {
            return statement.complete(.failure(.noStandby))
        }
        if reader.inFlight >= configuration.growsAt { growReaders() }
        reader.submit(statement, replayed: needed)
    }
}
