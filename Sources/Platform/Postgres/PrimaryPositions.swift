import Deadlines
import Synchronization

/// Where the primary's log stood in the last seconds, so that a standby's age needs no clock of its
/// own: an idle primary writes nothing, and the time of the last replayed transaction would grow.
package final class PrimaryPositions: Sendable {
    private struct Sample {
        var at: Int64
        var position: WALPosition
    }

    private let samples = Mutex<[Sample]>([])
    private let limit: Int64
    private let now: @Sendable () -> Int64

    /// A standby may lag by `limit` seconds. `now`: monotonic nanoseconds.
    package init(limit: Int, now: @escaping @Sendable () -> Int64 = { Deadline.now }) {
        self.limit = Int64(limit) * 1_000_000_000
        self.now = now
    }

    /// Notes where the primary is now.
    package func note(_ position: WALPosition) {
        let sample = Sample(at: now(), position: position)
        samples.withLock { samples in
            samples.append(sample)
            // The newest that is old enough stays.
            let old = samples.lastIndex { $0.at <= sample.at - limit } ?? 0
            samples.removeFirst(old)
        }
    }

    /// What a standby must have replayed to be no older than the limit: where the primary was then, or
    /// at the first sample. Nil before that one.
    var least: WALPosition? {
        let end = now() - limit
        return samples.withLock { samples in
            (samples.last { $0.at <= end } ?? samples.first)?.position
        }
    }

    /// How far a standby is behind that has replayed `position`: in bytes, and in seconds as exact as
    /// the samples are dense.
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
