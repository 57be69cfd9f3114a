import Postgres
import Synchronization
import TestSupport
import Testing
import Text

@testable import Storage

/// Counts in memory are written before they are read, also those that another call is writing.
@Suite(.cleansUp) struct CountWritingTests {
    private struct Failed: Error {}

    /// Counts of tenants, which are written as far as `allow` lets them.
    private final class Counter: Sendable {
        let writing = CountWriting()
        let pending = Mutex<[UUID: Int]>([:])
        let written = Mutex<[UUID: Int]>([:])
        let isEnded = Atomic(false)

        func write(
            of tenant: UUID? = nil, _ allow: () async throws -> Void = {}
        ) async -> (any Error)? {
            await writing.write(of: tenant, among: Set(pending.withLock { $0.keys })) { tenant in
                let count = pending.withLock { $0.removeValue(forKey: tenant) } ?? 0
                do {
                    try await allow()
                } catch {
                    pending.withLock { $0[tenant, default: 0] += count }
                    throw error
                }
                written.withLock { $0[tenant, default: 0] += count }
            }
        }

        /// Begins to write all, and ends with `outcome` once another waits for it, or has ended without.
        func writeSlowly(_ outcome: Result<Void, any Error> = .success(())) async {
            _ = await write {
                while writing.waitingCount == 0, !isEnded.load(ordering: .relaxed) {
                    await Task.yield()
                }
                try outcome.get()
            }
        }

        /// Once another call is writing this tenant's.
        func begun(_ tenant: UUID) async {
            while pending.withLock({ $0[tenant] != nil }) { await Task.yield() }
        }
    }

    @Test(arguments: [true, false])
    func `who writes waits for what another took`(ofOne: Bool) async {
        let (counter, tenant) = (Counter(), UUID.random())
        counter.pending.withLock { $0[tenant] = 3 }
        async let slow: Void = counter.writeSlowly()
        await counter.begun(tenant)
        let fault = await counter.write(of: ofOne ? tenant : nil)
        #expect(counter.written.withLock { $0 } == [tenant: 3])
        #expect(fault == nil)
        counter.isEnded.store(true, ordering: .relaxed)
        await slow
        #expect(counter.writing.waitingCount == 0)
    }

    @Test func `those who wait for a writing that fails do not try in turn`() async {
        let (counter, tenant) = (Counter(), UUID.random())
        counter.pending.withLock { $0[tenant] = 3 }
        async let slow: Void = counter.writeSlowly(.failure(Failed()))
        await counter.begun(tenant)
        let fault = await counter.write(of: tenant)
        #expect(fault == nil)
        #expect(counter.written.withLock { $0 } == [:])
        counter.isEnded.store(true, ordering: .relaxed)
        await slow
        _ = await counter.write(of: tenant)
        #expect(counter.written.withLock { $0 } == [tenant: 3])
    }

    @Test func `a fault of one tenant leaves the others, and an outage ends the round`() async {
        let counter = Counter()
        for _ in 0..<3 { counter.pending.withLock { $0[UUID.random()] = 1 } }
        let calls = Atomic(0)
        let fault = await counter.write {
            if calls.add(1, ordering: .relaxed).newValue == 1 { throw Failed() }
        }
        #expect(fault is Failed)
        #expect(counter.written.withLock { $0.count } == 2)
        counter.pending.withLock { $0[UUID.random()] = 1 }
        let outage = await counter.write {
            calls.add(1, ordering: .relaxed)
            throw PostgresError(.unavailable)
        }
        #expect(outage == nil)
        #expect(calls.load(ordering: .relaxed) == 4)
        #expect(counter.pending.withLock { $0.count } == 2)
    }

    // The lock of a distributed table locks no shard.
    @Test(.onOneServer) func `the overview has the uses that are being written`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let key = try await service.makeKey(#""smtp""#)
        for _ in 0..<3 { #expect(try await service.verdict(key.secret) == "valid") }
        let storage = service.storage
        let writing = storage.keyUses.writing
        let administrator = service.database.client(as: service.database.administrator)
        let shown = try await administrator.transaction { transaction in
            try await transaction.query(
                "SELECT 1 FROM tenants WHERE id = \(tenant.id) FOR UPDATE")
            _ = Task { await storage.writeKeyUses() }
            while storage.keyUses.tenants.contains(tenant.id) { await Task.yield() }
            let shown = Task { try await storage.overview(tenant: tenant.id, .hours(24)) }
            while writing.waitingCount == 0 { await Task.yield() }
            return shown
        }
        #expect(try await shown.value?.verifications == 3)
    }
}
