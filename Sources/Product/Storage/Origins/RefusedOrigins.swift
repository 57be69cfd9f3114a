import Synchronization
import Text

/// Origins that this process has refused: counted in memory, written in batches. Anybody can cause an
/// entry, so every number of them is limited, and the origin that was seen least goes first.
package final class RefusedOrigins: Sendable {
    /// Of one tenant: in memory, and stored of one hour.
    static let ofTenant = 100
    /// Tenants in memory; refusals of further ones are not counted until the next writing.
    static let tenants = 1000
    /// Paths that are kept of an origin.
    static let paths = 3

    /// The beginning of the hour in which a refusal of this time counts.
    static func hour(of time: Timestamp) -> Timestamp {
        Timestamp(microseconds: KeyUses.start(of: KeyUses.hour, time))
    }

    struct Pending: Sendable {
        var count = 0
        var first: Timestamp
        var last: Timestamp
        /// Templates: no id stands in them.
        var paths: [String] = []
    }

    typealias Batch = [String: Pending]

    let writing = CountWriting()
    private let pending = Mutex<[UUID: Batch]>([:])

    /// `path`: the template of the path that was asked for; empty: it is not known.
    package func note(_ origin: String, of tenant: UUID, path: String, at now: Timestamp) {
        pending.withLock { all in
            guard all.count < Self.tenants || all[tenant] != nil else { return }
            var batch = all[tenant] ?? [:]
            var entry = batch[origin] ?? Pending(first: now, last: now)
            entry.count += 1
            entry.last = max(entry.last, now)
            if !path.isEmpty, entry.paths.count < Self.paths, !entry.paths.contains(path) {
                entry.paths.append(path)
            }
            batch[origin] = entry
            if batch.count > Self.ofTenant,
                let least = batch.filter({ $0.key != origin }).min(by: { $0.value.isLess($1.value) }
                )
            {
                batch[least.key] = nil
            }
            all[tenant] = batch
        }
    }

    /// Those with unwritten refusals.
    var unwritten: Set<UUID> { pending.withLock { Set($0.keys) } }

    /// Takes what is to be written of one tenant.
    func take(_ tenant: UUID) -> Batch {
        pending.withLock { $0.removeValue(forKey: tenant) ?? [:] }
    }
}

extension RefusedOrigins.Pending {
    fileprivate func isLess(_ other: RefusedOrigins.Pending) -> Bool {
        (count, last.microseconds) < (other.count, other.last.microseconds)
    }
}
