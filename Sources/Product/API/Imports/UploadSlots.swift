import Synchronization
import Text

/// Counts the uploads that are being received by this replica.
package final class UploadSlots: Sendable {
    /// At once, and of one tenant.
    static let atOnce = 8
    static let ofOneTenant = 2

    private let running = Mutex<[UUID: Int]>([:])

    package init() {}

    /// Held while an upload is received; released on deinit, however it ended.
    final class Slot: Sendable {
        private let slots: UploadSlots
        private let tenant: UUID

        fileprivate init(_ slots: UploadSlots, _ tenant: UUID) {
            self.slots = slots
            self.tenant = tenant
        }

        deinit { slots.free(tenant) }
    }

    func take(for tenant: UUID) throws -> Slot {
        let refusal: String? = running.withLock { running in
            if running[tenant, default: 0] >= Self.ofOneTenant {
                return "\(Self.ofOneTenant) imports of this tenant are being received"
            }
            guard running.values.reduce(0, +) < Self.atOnce else {
                return "\(Self.atOnce) imports are being received"
            }
            running[tenant, default: 0] += 1
            return nil
        }
        if let refusal { throw Problem.rateLimited("\(refusal); try again later.", retryAfter: 10) }
        return Slot(self, tenant)
    }

    private func free(_ tenant: UUID) {
        running.withLock { running in
            let left = (running[tenant] ?? 1) - 1
            running[tenant] = left > 0 ? left : nil
        }
    }
}
