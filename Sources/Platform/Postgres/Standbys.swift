import Runtime
import Synchronization
import Text

/// One or more standbys of the database behind one address. The app's role and the platform's role
/// read from them.
///
/// The standbys serve reads that accept somewhat old rows, but none older than a given position of
/// the write-ahead log. If no standby can serve such a read, the primary serves it, so a standby
/// never makes a read fail.
package final class Standbys: Sendable {
    private let app: Postgres
    private let platform: Postgres
    private let measures: StandbyMeasures
    /// Whether a read at the standby was lost. Then no reads are sent there until `look` gets an
    /// answer, because each could wait for a silent server.
    private let isAway = Atomic<Bool>(false)
    /// The primary's recent positions. `follow` adds to them; before the first one, no standby is
    /// read.
    let positions: PrimaryPositions

    /// Connects as both roles. Replaces the limits of both configurations by few connections and by
    /// short timeouts, so that the primary can still answer in time.
    package init(
        app: PostgresConfiguration, platform: PostgresConfiguration, loops: [EventLoop],
        positions: PrimaryPositions, measures: StandbyMeasures = StandbyMeasures()
    ) {
        self.app = Postgres(configuration: Self.limited(app), loops: loops)
        self.platform = Postgres(configuration: Self.limited(platform), loops: loops)
        self.positions = positions
        self.measures = measures
    }

    /// The most connections to the standby for each role on each loop; one stays open while idle.
    static let connectionsPerLoop = 2

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

    /// Returns the rows as of `position` or later. Returns `nil` if the primary must be read
    /// instead; this is always so if `position` is `nil`. `tenant` is the value of `app.tenant`
    /// while the statement runs.
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

    /// Asks the standby how far it has replayed the log; `nil` if it does not answer.
    @discardableResult
    package func look() async -> WALPosition? {
        let replayed = try? await app.replayed()
        isAway.store(replayed == nil, ordering: .relaxed)
        return replayed
    }

    /// Records the primary's position and how far the standby is behind it. Called every second.
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
    /// The standby had not replayed the caller's own changes, or its data was older than the limit.
    case lag
    /// No connection was open, or none had room for the read.
    case unavailable
    /// The standby cancelled the read, because a change in the replayed log conflicted with the
    /// read.
    case conflict
    case timeout
    /// The standby refused the statement or another statement of the same batch. The primary may
    /// refuse it too.
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

/// The metrics of reads that may be answered by a standby.
package struct StandbyMeasures: Sendable {
    package var standby = Counter()
    package var primary = Counter()
    package var fallbacks: [StandbyFallback: Counter] = [:]
    package var lagBytes = Gauge()
    package var lagSeconds = Gauge()

    package init() {}
}

/// How far the server behind one connection has replayed the primary's log. This position never
/// goes back, because a server that restarts closes its connections. What another connection
/// reports does not count, since several standbys may share an address.
struct Replay {
    /// The question for the server's position. The ELSE branch is for a standby that has become the
    /// primary: its data is what it has written itself.
    static let question: SQL = """
        SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
            ELSE pg_current_wal_insert_lsn() END
        """

    /// The position that the server is known to have replayed.
    var known = WALPosition.start
    /// Reads that need a later position than `known`; they wait for the answer to the question.
    var waiting: [(needed: WALPosition, statement: Statement)] = []
}

extension Postgres {
    /// Returns the position up to which this server has replayed the write-ahead log or, if it is
    /// the primary, written it. Returns `nil` if a standby has replayed nothing yet.
    package func replayed() async throws(PostgresError) -> WALPosition? {
        try await read(Replay.question).first?.get(0)
    }
}

extension PostgresError {
    /// The error of a read whose position the standby has not replayed.
    static let notReplayed = PostgresError(
        .unavailable, "not replayed yet", "standby.not_replayed")
    /// The error of a read for which no connection to a standby is open or has room.
    static let noStandby = PostgresError(.unavailable, "no connection", "standby.not_connected")
}

extension PostgresConnection {
    /// Sends a read if the server has replayed the write-ahead log up to `needed`. If this is not
    /// known yet, the server is asked first, in a round trip of its own. A condition in the read's
    /// own batch would save the round trip, but it could stop the read only by an error. Such
    /// errors would fill the standby's log and fail the other reads of the batch.
    func submit(_ statement: Statement, replayed needed: WALPosition) {
        if replay.known >= needed { return submit(statement) }
        replay.waiting.append((needed, statement))
        if replay.waiting.count > 1 { return }
        let question = Statement(Replay.question, .read) { [weak self] in self?.replayed($0) }
        question.retried = true
        submitAlone(question)
    }

    /// Sends the waiting reads whose position is replayed; the others fail.
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
    /// Runs a read at a standby. It fails if no connection is open, and it is never sent twice.
    func readReplayed(_ statement: Statement, _ needed: WALPosition) {
        statement.retried = true
        guard !closed, let reader = leastLoaded() else {
            return statement.complete(.failure(.noStandby))
        }
        if reader.inFlight >= configuration.growsAt { growReaders() }
        reader.submit(statement, replayed: needed)
    }
}
