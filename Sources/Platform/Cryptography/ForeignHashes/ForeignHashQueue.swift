import Text
import Workers

/// Runs foreign hashes: one at a time for each tenant, and on threads of their own, so that a
/// tenant with costly ones delays neither another tenant nor our own hashes.
final class ForeignHashQueue: Sendable {
    /// Sign-ins of one tenant that wait for their turn: more than one address may try without a wait,
    /// so that it can neither fill the queue nor tell by a refusal who has a foreign hash.
    static let waitingLimit = 64

    private let pool: WorkerPool
    private let slots: FairSlots<UUID>

    init(threads: Int, waitingLimit: Int = ForeignHashQueue.waitingLimit) {
        pool = WorkerPool(threads: threads, queueLimit: PasswordHasher.queueLimit)
        slots = FairSlots(waitingLimit: waitingLimit)
    }

    /// How many of the tenant's wait for their turn.
    func waiting(_ tenant: UUID) -> Int { slots.waiting(tenant) }

    /// `hash.mayBe(of: password)` is true.
    func matches(
        _ password: [UInt8], _ hash: ForeignPasswordHash, in tenant: UUID
    ) async throws(PasswordFault) -> Bool {
        try await alone(tenant, account: hash.text.hashValue) { hash.matches(password) }
    }

    /// Does the work when no other of the tenant's runs. The accounts of a tenant take turns: who tries
    /// one again and again keeps its other people waiting for one check at most.
    func alone<Value: Sendable>(
        _ tenant: UUID, account: Int = 0,
        _ work: @escaping @Sendable () -> Result<Value, PasswordFault>
    ) async throws(PasswordFault) -> Value {
        guard await slots.enter(tenant, limit: 1, group: account) else { throw .busy }
        let result = await pool.run(work)
        slots.leave(tenant)
        guard let result else { throw .busy }
        return try result.get()
    }
}
