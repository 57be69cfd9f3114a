import HTTP
import Synchronization
import Text

/// Limits of exports, or of other responses that take long.
package struct ExportLimits: Sendable {
    /// What is counted, for refusals.
    var noun = "exports"
    /// Rows of one export; a longer one is cut off.
    package var rows = 10_000_000
    /// Concurrent exports on this replica: each requests the next page as soon as the one before is
    /// sent.
    package var atOnce = 8
    /// Of these, one credential's, and one tenant's credentials'.
    package var ofOneCaller = 2
    package var ofOneTenant = 4
    /// The time limit: a slowly reading client occupies a slot.
    package var seconds: Int64 = 3600

    package init() {}

    /// Streams of events: each asks the database once a second, and ends after ten minutes, when
    /// its client asks again.
    static var streams: ExportLimits {
        var limits = ExportLimits()
        limits.noun = "streams"
        (limits.atOnce, limits.ofOneCaller, limits.ofOneTenant) = (64, 4, 16)
        limits.seconds = 600
        return limits
    }
}

/// Counts the running exports.
final class ExportSlots: Sendable {
    /// Held while an export runs; released on deinit, however it ended.
    final class Slot: Sendable {
        private let slots: ExportSlots
        private let caller: Caller

        fileprivate init(_ slots: ExportSlots, _ caller: Caller) {
            self.slots = slots
            self.caller = caller
        }

        deinit { slots.free(caller) }
    }

    let limits: ExportLimits
    private let running = Mutex<[Caller: Int]>([:])

    fileprivate struct Caller: Hashable {
        var id: UUID?
        /// Nil: the platform's.
        var tenant: UUID?
    }

    init(_ limits: ExportLimits) { self.limits = limits }

    /// 429 if the caller has reached its limit, 503 if the replica has.
    func take(for principal: CallerPrincipal) throws(Problem) -> Slot {
        let caller = Caller(id: principal.id, tenant: principal.tenant)
        let refusal: Problem? = running.withLock { running in
            let ofTenant = running.reduce(0) {
                $0 + ($1.key.tenant == caller.tenant ? $1.value : 0)
            }
            if running[caller] ?? 0 >= limits.ofOneCaller {
                return Self.enough("\(limits.ofOneCaller) \(limits.noun) of yours are running")
            }
            if caller.tenant != nil, ofTenant >= limits.ofOneTenant {
                return Self.enough(
                    "\(limits.ofOneTenant) \(limits.noun) of your tenant are running")
            }
            guard running.values.reduce(0, +) < limits.atOnce else {
                return Problem(
                    .unavailable, "Too many \(limits.noun) are running; try again.",
                    fields: [Field("retry-after", "\(Self.retryAfter)")])
            }
            running[caller, default: 0] += 1
            return nil
        }
        if let refusal { throw refusal }
        return Slot(self, caller)
    }

    private static let retryAfter: Int64 = 5

    private static func enough(_ what: String) -> Problem {
        .rateLimited("\(what); wait for one to end.", retryAfter: retryAfter)
    }

    private func free(_ caller: Caller) {
        running.withLock { running in
            let left = (running[caller] ?? 1) - 1
            running[caller] = left > 0 ? left : nil
        }
    }
}
