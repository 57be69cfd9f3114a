/// How far the server of one connection has replayed the primary's log. It only grows: a server
/// that restarts closes its connections. Other connections say nothing about it, since an address
/// may stand for several standbys.
struct Replay {
    /// Asked of a standby. The other branch is for a server that was promoted: what it has not
    /// written it does not have.
    static let question: SQL = """
        SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
            ELSE pg_current_wal_insert_lsn() END
        """

    /// At least so far.
    var known = WALPosition.start
    /// Reads that need more than is known, until the answer to the question that is under way.
    var waiting: [(needed: WALPosition, statement: Statement)] = []
}

extension Postgres {
    /// What this server has replayed, or as the primary written; nil before a standby's first record.
    package func replayed() async throws(PostgresError) -> WALPosition? {
        try await read(Replay.question).first?.get(0)
    }
}

extension PostgresError {
    /// A standby has not replayed what a read needs.
    static let notReplayed = PostgresError(
        .unavailable, "not replayed yet", "postgres.not_replayed")
    /// No connection to a standby is open, or none has room.
    static let noStandby = PostgresError(.unavailable, "no connection", "postgres.no_standby")
}

extension PostgresConnection {
    /// A read that needs a position. If it is not known to be replayed, the server is asked first: a
    /// guard in the read's own batch would save that round trip, but it could stop the read only by an
    /// error, which fills the standby's log and fails the batch's other reads.
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
    /// A read at a standby: on a connection that is open, or not at all, and never sent twice.
    func readReplayed(_ statement: Statement, _ needed: WALPosition) {
        statement.retried = true
        guard !closed, let reader = leastLoaded() else {
            return statement.complete(.failure(.noStandby))
        }
        if reader.inFlight >= configuration.growsAt { growReaders() }
        reader.submit(statement, replayed: needed)
    }
}
