import Runtime
import Synchronization
import Text

/// Decides whether this process may still answer from its cache. It does no input or output.
///
/// Every cached answer has a `Token`, taken *before* its query was sent, and the `CacheTags` of the
/// objects it depends on. An invalidation stamps its tags with the next number. An answer is stale
/// if its token is older than the stamp of one of its tags. So an answer that was read while a
/// change happened never counts as fresh, and no list of running queries is needed. In addition a
/// lease must be active. Its time counts from just before its renewal was sent. Only nine tenths of
/// its length are used, in case clocks run at different speeds.
package final class Freshness: Sendable {
    /// The number of the latest invalidation at the time when a query was sent.
    package struct Token: Sendable, Equatable {
        let number: UInt64
    }

    private final class Cell: Sendable {
        let stamp = Atomic<UInt64>(0)
    }

    /// The length of a lease in nanoseconds.
    private let lease: Int64
    private let cells: [Cell]
    private let sequence = Atomic<UInt64>(0)
    /// The number below which tokens are stale, whatever their tags.
    private let floor = Atomic<UInt64>(0)
    private let trustedUntil = Atomic<Int64>(.min)
    /// Allows only one invalidation at a time, so that the numbers are stamped in rising order.
    private let stamping = Mutex(())

    /// Makes a cache state without a lease. `lease` is in nanoseconds. `cells` is the number of
    /// stamps, a power of two up to 1,024.
    package init(lease: Int64, cells count: Int = 1024) {
        self.lease = lease
        cells = (0..<count).map { _ in Cell() }
    }

    /// Extends the trust in the cache, because the database acknowledged a renewal of the lease.
    /// The renewal was sent at `sentAt`.
    package func renewed(sentAt: Int64) {
        trustedUntil.store(sentAt + lease / 10 * 9, ordering: .sequentiallyConsistent)
    }

    /// Ends the trust in the cache, because invalidations may be missed from now on.
    package func lost() { trustedUntil.store(.min, ordering: .sequentiallyConsistent) }

    package func isTrusted(at now: Int64) -> Bool {
        now < trustedUntil.load(ordering: .sequentiallyConsistent)
    }

    package var token: Token { Token(number: sequence.load(ordering: .sequentiallyConsistent)) }

    /// Makes answers that depend on these objects stale. Call it after the change is committed.
    package func invalidate(_ tags: [CacheTag]) {
        stamping.withLock { _ in
            let stamp = sequence.add(1, ordering: .sequentiallyConsistent).newValue
            for tag in tags {
                cells[tag.index & (cells.count - 1)].stamp.store(
                    stamp, ordering: .sequentiallyConsistent)
            }
        }
    }

    /// Makes every answer stale, because any object may have changed.
    package func invalidateAll() {
        stamping.withLock { _ in
            let stamp = sequence.add(1, ordering: .sequentiallyConsistent).newValue
            floor.store(stamp, ordering: .sequentiallyConsistent)
        }
    }

    /// Whether no invalidation since the token named one of the tags.
    package func isCurrent(_ token: Token, _ tags: CacheTags) -> Bool {
        guard token.number >= floor.load(ordering: .sequentiallyConsistent) else { return false }
        for lane in tags.indices.indices {
            let cell = cells[Int(tags.indices[lane]) & (cells.count - 1)]
            if cell.stamp.load(ordering: .sequentiallyConsistent) > token.number { return false }
        }
        return true
    }

    /// Copies a state, so that a test can continue from it in every possible order of steps.
    package init(copying other: Freshness, tags: [CacheTag]) {
        lease = other.lease
        cells = other.cells.map { _ in Cell() }
        sequence.store(other.sequence.load(ordering: .relaxed), ordering: .relaxed)
        floor.store(other.floor.load(ordering: .relaxed), ordering: .relaxed)
        trustedUntil.store(other.trustedUntil.load(ordering: .relaxed), ordering: .relaxed)
        for tag in tags {
            let stamp = other.cells[tag.index & (other.cells.count - 1)].stamp.load(
                ordering: .relaxed)
            cells[tag.index & (cells.count - 1)].stamp.store(stamp, ordering: .relaxed)
        }
    }
}

/// An object that an answer depends on or that an invalidation names. Several objects may share a
/// stamp, so sometimes more answers than necessary become stale, but never too few.
package struct CacheTag: Sendable, Hashable {
    package let id: UUID

    package init(_ id: UUID) { self.id = id }

    var index: Int {
        Int(((id.high ^ id.low &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93) >> 54)
    }
}

/// The tags of one answer, at most four.
package struct CacheTags: Sendable, Hashable {
    let indices: SIMD4<UInt16>

    package init(
        _ first: CacheTag, _ second: CacheTag? = nil, _ third: CacheTag? = nil,
        _ fourth: CacheTag? = nil
    ) {
        func index(_ tag: CacheTag?) -> UInt16 { UInt16((tag ?? first).index) }
        indices = SIMD4(index(first), index(second), index(third), index(fourth))
    }
}

/// The part of a partitioned structure that the current thread uses. Loops that count or cache at
/// the same time then do not wait for each other's locks. If there are more loops than parts,
/// several loops share one.
package enum Lane {
    package static let count = 8
    package static var current: Int { max(0, EventLoop.current?.index ?? 0) % count }
}
