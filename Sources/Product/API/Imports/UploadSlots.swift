import Synchronization
import Text

/// Counts the uploads that are being received by this replica. Where all places are taken, a tenant
/// without one gets that of a tenant with most, whose newest upload ends: a few tenants with slow uploads
/// keep no one out.
package final class UploadSlots: Sendable {
    /// At once, and of one tenant.
    static let atOnce = 8
    static let ofOneTenant = 2

    private struct Upload {
        let id: UUID
        let tenant: UUID
    }

    /// Oldest first.
    private let running = Mutex<[Upload]>([])

    package init() {}

    /// Held while an upload is received; released on deinit, however it ended.
    final class Slot: Sendable {
        private let slots: UploadSlots
        private let id: UUID

        fileprivate init(_ slots: UploadSlots, _ id: UUID) {
            self.slots = slots
            self.id = id
        }

        deinit { slots.free(id) }

        /// Throws 429 if another tenant got the place.
        func check() throws {
            guard slots.holds(id) else {
                throw Problem.rateLimited(
                    "Another tenant's import came, and this tenant had \(UploadSlots.ofOneTenant) of the "
                        + "\(UploadSlots.atOnce) places; try again later.", retryAfter: 10)
            }
        }
    }

    func take(for tenant: UUID) throws -> Slot {
        let id = UUID.random()
        let refusal: String? = running.withLock { running in
            if running.count(where: { $0.tenant == tenant }) >= Self.ofOneTenant {
                return "\(Self.ofOneTenant) imports of this tenant are being received"
            }
            if running.count >= Self.atOnce {
                guard !running.contains(where: { $0.tenant == tenant }),
                    let newest = running.lastIndex(where: { one in
                        running.count { $0.tenant == one.tenant } >= Self.ofOneTenant
                    })
                else { return "\(Self.atOnce) imports are being received" }
                running.remove(at: newest)
            }
            running.append(Upload(id: id, tenant: tenant))
            return nil
        }
        if let refusal { throw Problem.rateLimited("\(refusal); try again later.", retryAfter: 10) }
        return Slot(self, id)
    }

    private func holds(_ id: UUID) -> Bool {
        running.withLock { running in running.contains { $0.id == id } }
    }

    private func free(_ id: UUID) {
        running.withLock { running in running.removeAll { $0.id == id } }
    }
}
