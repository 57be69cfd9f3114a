import Runtime
import Synchronization

/// A position in PostgreSQL's write-ahead log, as `16/B374D848`. It grows with each change.
package struct WALPosition: Sendable, Comparable, CustomStringConvertible {
    package let offset: UInt64

    package init(offset: UInt64) { self.offset = offset }

    /// Before every change.
    package static let start = WALPosition(offset: 0)
    /// After every change that there will ever be.
    package static let end = WALPosition(offset: .max)

    /// Two hexadecimal numbers of at most 32 bits each with a slash between; `nil` for any other
    /// text.
    package init?(_ text: String) {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, let high = Self.number(halves[0]), let low = Self.number(halves[1])
        else { return nil }
        offset = UInt64(high) << 32 | UInt64(low)
    }

    private static func number(_ text: Substring) -> UInt32? {
        guard (1...8).contains(text.utf8.count), text.utf8.first != UInt8(ascii: "+") else {
            return nil
        }
        return UInt32(text, radix: 16)
    }

    /// As PostgreSQL writes it.
    package var description: String {
        let high = String(offset >> 32, radix: 16, uppercase: true)
        return high + "/" + String(offset & 0xFFFF_FFFF, radix: 16, uppercase: true)
    }

    package static func < (one: WALPosition, other: WALPosition) -> Bool {
        one.offset < other.offset
    }
}

extension WALPosition: PostgresDecodable {
    /// A `pg_lsn`; `nil` for NULL.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer?, type: UInt32
    ) -> WALPosition? {
        guard let bytes, bytes.count == 8 else { return nil }
        return bytes.bigEndian(UInt64.self).map(WALPosition.init(offset:))
    }
}

/// Where the primary's log stood after the commits of one request: a standby that has replayed up to
/// there has all of them. Collected only while `current` is set.
package final class CommitPosition: Sendable {
    /// The one of the running request; `nil` if its commits ask for no position.
    @TaskLocal package static var current: CommitPosition?

    /// A commit is flushed before it is acknowledged, and standbys can get the log up to there at
    /// once. Only with `synchronous_commit` off may the flushed position be behind the commit. Then
    /// the inserted position covers it, but also what others have begun, which may stay unflushed
    /// for a while.
    static let question: SQL = """
        SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
            THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END
        """

    private let state = Mutex<(newest: WALPosition?, isUnknown: Bool)>((nil, false))

    package init() {}

    /// The newest position; `nil` if nothing was committed.
    package var newest: WALPosition? { state.withLock { $0.newest } }

    /// Whether something was committed whose position was lost with the connection.
    package var isUnknown: Bool { state.withLock { $0.isUnknown } }

    func note(_ answer: Answer) {
        let position = (try? answer.get())?.first.flatMap { try? $0.get(0, as: WALPosition.self) }
        state.withLock { state in
            guard let position else {
                state.isUnknown = true
                return
            }
            state.newest = max(state.newest ?? .start, position)
        }
    }
}

extension PostgresConnection {
    /// Sends a statement that commits, and after it the question where the log then stands: one
    /// round trip for both. The statement completes after the answer to the question.
    func submitCommitting(_ statement: Statement, before prelude: [String] = []) {
        guard let position = statement.position else {
            return submitAlone(statement, before: prelude)
        }
        statement.lastQuestion += 1
        statement.awaitsPosition = true
        let number = statement.lastQuestion
        let question = Statement(CommitPosition.question, .inTransaction) { answer in
            // An earlier attempt at the statement committed nothing.
            guard number == statement.lastQuestion else { return }
            position.note(answer)
            statement.awaitsPosition = false
            statement.completeHeld()
        }
        submitAlone(statement, before: prelude, flushing: false)
        submitAlone(question)
    }
}

extension Postgres {
    /// Where the log of the primary stands now, after every acknowledged commit; a standby refuses the
    /// question.
    package func currentPosition() async throws(PostgresError) -> WALPosition {
        try await position(CommitPosition.question)
    }

    /// How far the log of the primary is flushed. The standbys of an idle primary have all of it.
    package func flushedPosition() async throws(PostgresError) -> WALPosition {
        try await position("SELECT pg_current_wal_flush_lsn()")
    }

    private func position(_ question: SQL) async throws(PostgresError) -> WALPosition {
        guard let row = try await read(question).first else { throw PostgresError(.decoding) }
        return try row.get(0)
    }
}

/// Where the primary's log stood in the last seconds. With it, a standby's age needs no clock: an
/// idle primary writes nothing, so the age of the last replayed transaction would grow.
package final class PrimaryPositions: Sendable {
    private struct Sample {
        var at: Int64
        var position: WALPosition
    }

    private let samples = Mutex<[Sample]>([])
    private let limit: Int64
    private let now: @Sendable () -> Int64

    /// A standby may lag by `limit` seconds. `now` gives monotonic nanoseconds.
    package init(limit: Int, now: @escaping @Sendable () -> Int64 = { Deadline.now }) {
        self.limit = Int64(limit) * 1_000_000_000
        self.now = now
    }

    /// Notes where the primary is now.
    package func note(_ position: WALPosition) {
        let sample = Sample(at: now(), position: position)
        samples.withLock { samples in
            samples.append(sample)
            // Keep the newest one that is old enough.
            let old = samples.lastIndex { $0.at <= sample.at - limit } ?? 0
            samples.removeFirst(old)
        }
    }

    /// What a standby must have replayed to be no older than the limit: the primary's position
    /// then, or at the first sample; `nil` before the first sample.
    var least: WALPosition? {
        let end = now() - limit
        return samples.withLock { samples in
            (samples.last { $0.at <= end } ?? samples.first)?.position
        }
    }

    /// How far a standby that has replayed `position` is behind: in bytes, and in seconds, which
    /// are as exact as the samples are dense.
    package func lag(of position: WALPosition) -> (bytes: Int, seconds: Int) {
        let time = now()
        return samples.withLock { samples in
            guard let newest = samples.last, newest.position > position,
                let missed = samples.first(where: { $0.position > position })
            else { return (0, 0) }
            return (
                Int(newest.position.offset - position.offset),
                Int((time - missed.at) / 1_000_000_000)
            )
        }
    }
}
