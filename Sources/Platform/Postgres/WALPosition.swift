import Runtime
import Synchronization

/// A position in PostgreSQL's write-ahead log, such as `16/B374D848`. It grows with each change.
package struct WALPosition: Sendable, Comparable, CustomStringConvertible {
    package let offset: UInt64

    init(offset: UInt64) { self.offset = offset }

    /// The position before the first change.
    package static let start = WALPosition(offset: 0)
    /// A position that is after every change.
    package static let end = WALPosition(offset: .max)

    /// Parses two hexadecimal numbers of at most 32 bits each with a slash between them; `nil` for
    /// any other text.
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

    /// The position as PostgreSQL writes it.
    package var description: String {
        let high = String(offset >> 32, radix: 16, uppercase: true)
        return high + "/" + String(offset & 0xFFFF_FFFF, radix: 16, uppercase: true)
    }

    package static func < (one: WALPosition, other: WALPosition) -> Bool {
        one.offset < other.offset
    }
}

extension WALPosition: PostgresDecodable {
    /// Decodes a `pg_lsn`; `nil` for NULL.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer?, type: UInt32
    ) -> WALPosition? {
        guard let bytes, bytes.count == 8 else { return nil }
        return bytes.bigEndian(UInt64.self).map(WALPosition.init(offset:))
    }
}

/// The position of the primary's log after the commits of one request. A standby that has replayed
/// the log up to there has all these commits. Positions are collected only while `current` is set.
package final class CommitPosition: Sendable {
    /// The position to which the running request adds; `nil` if no position is needed.
    @TaskLocal package static var current: CommitPosition?

    /// The question for the log's position after a commit. A commit is normally flushed before it
    /// is acknowledged, so the flushed position covers it, and standbys can get the log up to there
    /// at once. With `synchronous_commit` off, the flushed position can be behind the commit, so
    /// the inserted position is used. The inserted position also covers unfinished work of others,
    /// which may stay unflushed for a while.
    static let question: SQL = """
        SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
            THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END
        """

    private let state = Mutex<(newest: WALPosition?, isUnknown: Bool)>((nil, false))

    package init() {}

    /// The newest position that was recorded; `nil` if nothing was committed.
    package var newest: WALPosition? { state.withLock { $0.newest } }

    /// Whether the position of some commit was lost together with its connection.
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
    /// Sends a statement that commits, followed by the question for the log's position, in one
    /// round trip. The statement completes after the question is answered.
    func submitCommitting(_ statement: Statement, before prelude: [String] = []) {
        guard let position = statement.position else {
            return submitAlone(statement, before: prelude)
        }
        statement.lastQuestion += 1
        statement.awaitsPosition = true
        let number = statement.lastQuestion
        let question = Statement(CommitPosition.question, .inTransaction) { answer in
            // If the numbers differ, this question belongs to an earlier attempt at the statement,
            // which committed nothing.
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
    /// Returns the primary's log position now, which is after every acknowledged commit. A standby
    /// refuses the question.
    package func currentPosition() async throws(PostgresError) -> WALPosition {
        try await position(CommitPosition.question)
    }

    /// Returns how far the primary's log is flushed. While the primary is idle, its standbys have
    /// the log up to this position.
    package func flushedPosition() async throws(PostgresError) -> WALPosition {
        try await position("SELECT pg_current_wal_flush_lsn()")
    }

    private func position(_ question: SQL) async throws(PostgresError) -> WALPosition {
        guard let row = try await read(question).first else { throw PostgresError(.decoding) }
        return try row.get(0)
    }
}

/// The positions of the primary's log in the last seconds. They show how old a standby's data is.
/// The time of the standby's last replayed transaction would not show this: while an idle primary
/// writes nothing, that time gets older, but the data does not.
package final class PrimaryPositions: Sendable {
    private struct Sample {
        var at: Int64
        var position: WALPosition
    }

    private let samples = Mutex<[Sample]>([])
    private let limit: Int64
    private let now: @Sendable () -> Int64

    /// Makes an empty list. A standby may be `limit` seconds behind. `now` returns monotonic
    /// nanoseconds.
    package init(limit: Int, now: @escaping @Sendable () -> Int64 = { Deadline.now }) {
        self.limit = Int64(limit) * 1_000_000_000
        self.now = now
    }

    /// Records the primary's current position.
    package func note(_ position: WALPosition) {
        let sample = Sample(at: now(), position: position)
        samples.withLock { samples in
            samples.append(sample)
            // Of the samples that are older than the limit, keep only the newest.
            let old = samples.lastIndex { $0.at <= sample.at - limit } ?? 0
            samples.removeFirst(old)
        }
    }

    /// The position that a standby must have replayed so that its data is not older than the limit.
    /// Until the first sample is as old as the limit, this is the position of the first sample;
    /// `nil` without a sample.
    var least: WALPosition? {
        let end = now() - limit
        return samples.withLock { samples in
            (samples.last { $0.at <= end } ?? samples.first)?.position
        }
    }

    /// Returns how far a standby that has replayed `position` is behind, in bytes and in seconds.
    /// The seconds are as precise as the samples are frequent.
    func lag(of position: WALPosition) -> (bytes: Int, seconds: Int) {
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
