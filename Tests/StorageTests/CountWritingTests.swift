import HTTP
import JSON
import Postgres
import Runtime
import Synchronization
import TestSupport
import Testing
import Text

@testable import Storage

/// Counts in memory are written before they are read, also those that another call is writing.
@Suite(.cleansUp) struct CountWritingTests {
    private struct Failed: Error {}

    /// Counts of tenants, of which one transaction writes a hundred.
    private final class Counter: Sendable {
        let writing = CountWriting()
        let pending = Mutex<[UUID: Int]>([:])
        let written = Mutex<[UUID: Int]>([:])
        let transactions = Atomic(0)
        let isEnded = Atomic(false)

        func write(
            of tenant: UUID? = nil, _ allow: () async throws -> Void = {}
        ) async -> (any Error)? {
            await writing.write(of: tenant, among: Set(pending.withLock { $0.keys })) { tenant in
                let (count, left) = take(tenant)
                transactions.add(1, ordering: .relaxed)
                do {
                    try await allow()
                } catch {
                    pending.withLock { $0[tenant, default: 0] += count }
                    throw error
                }
                written.withLock { $0[tenant, default: 0] += count }
                return left > 0
            }
        }

        private func take(_ tenant: UUID) -> (Int, left: Int) {
            pending.withLock { pending in
                let all = pending.removeValue(forKey: tenant) ?? 0
                if all > 100 { pending[tenant] = all - 100 }
                return (min(all, 100), max(0, all - 100))
            }
        }

        /// Begins to write all, and ends with `outcome` once so many wait for it, or others have ended
        /// without.
        func writeSlowly(
            waiters: Int = 1, _ outcome: Result<Void, any Error> = .success(())
        ) async -> (any Error)? {
            await write {
                while writing.waitingCount < waiters, !isEnded.load(ordering: .relaxed) {
                    await Task.yield()
                }
                try outcome.get()
            }
        }

        /// Returns once another call is writing this tenant's.
        func begun(_ tenant: UUID) async {
            while pending.withLock({ $0[tenant] != nil }) { await Task.yield() }
        }
    }

    private func counter(of tenant: UUID, _ count: Int) -> Counter {
        let counter = Counter()
        counter.pending.withLock { $0[tenant] = count }
        return counter
    }

    @Test(arguments: [true, false])
    func `a writer waits for counts that another one has taken`(ofOne: Bool) async {
        let tenant = UUID.random()
        let counter = counter(of: tenant, 3)
        async let slow = counter.writeSlowly()
        await counter.begun(tenant)
        let fault = await counter.write(of: ofOne ? tenant : nil)
        #expect(counter.written.withLock { $0 } == [tenant: 3])
        #expect(fault == nil)
        counter.isEnded.store(true, ordering: .relaxed)
        _ = await slow
        #expect(counter.writing.waitingCount == 0)
    }

    @Test func `many wait at once, and each sees what came before it`() async {
        let tenant = UUID.random()
        let counter = counter(of: tenant, 3)
        async let slow = counter.writeSlowly(waiters: 50)
        await counter.begun(tenant)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    counter.pending.withLock { $0[tenant, default: 0] += 1 }
                    let fault = await counter.write(of: tenant)
                    #expect(fault == nil)
                    #expect(counter.written.withLock { $0 } == [tenant: 53])
                }
            }
        }
        counter.isEnded.store(true, ordering: .relaxed)
        _ = await slow
        #expect(counter.written.withLock { $0 } == [tenant: 53])
    }

    @Test func `more than one transaction writes is written in several`() async {
        let tenant = UUID.random()
        let counter = counter(of: tenant, 250)
        _ = await counter.write(of: tenant)
        #expect(counter.written.withLock { $0 } == [tenant: 250])
        #expect(counter.transactions.load(ordering: .relaxed) == 3)
    }

    @Test
    func `an outage is waited for once, and after another fault the waiting call writes itself`()
        async
    {
        let tenant = UUID.random()
        let counter = counter(of: tenant, 3)
        for (error, isWritten) in [
            (PostgresError(.unavailable), false), (PostgresError(.timeout), true),
        ] {
            counter.isEnded.store(false, ordering: .relaxed)
            async let slow = counter.writeSlowly(.failure(error))
            await counter.begun(tenant)
            let fault = await counter.write(of: tenant)
            #expect(fault == nil)
            #expect(counter.written.withLock { $0 } == (isWritten ? [tenant: 3] : [:]))
            counter.isEnded.store(true, ordering: .relaxed)
            let slowFault = await slow
            #expect((slowFault == nil) == !isWritten)
        }
    }

    @Test func `a fault of one tenant leaves the others, and an outage ends the round`() async {
        let counter = Counter()
        for _ in 0..<3 { counter.pending.withLock { $0[UUID.random()] = 1 } }
        func isFirst() -> Bool { counter.transactions.load(ordering: .relaxed) == 1 }
        let fault = await counter.write { if isFirst() { throw Failed() } }
        #expect(fault is Failed)
        #expect(counter.written.withLock { $0.count } == 2)
        counter.pending.withLock { $0[UUID.random()] = 1 }
        let outage = await counter.write { throw PostgresError(.unavailable) }
        #expect(outage == nil)
        #expect(counter.transactions.load(ordering: .relaxed) == 4)
        #expect(counter.pending.withLock { $0.count } == 2)
    }

    @Test(arguments: [true, false])
    func `a request waits for two writings, the service's stop for all`(isRequest: Bool) async {
        let tenant = UUID.random()
        let counter = counter(of: tenant, 1000)
        let long = isRequest ? Deadline(since: Deadline.now, lasting: .seconds(3600)) : nil
        async let slow = counter.writeSlowly()
        while counter.transactions.load(ordering: .relaxed) == 0 { await Task.yield() }
        await Deadline.$current.withValue(long) { _ = await counter.write(of: tenant) }
        let written = counter.written.withLock { $0[tenant] ?? 0 }
        #expect(isRequest ? written >= 200 : written == 1000)
        counter.isEnded.store(true, ordering: .relaxed)
        _ = await slow
    }

    @Test func `a late request takes nothing`() async {
        let counter = counter(of: UUID.random(), 3)
        let late = Deadline(since: Deadline.now, lasting: .zero)
        let fault = await Deadline.$current.withValue(late) { await counter.write() }
        #expect(fault == nil)
        #expect(counter.transactions.load(ordering: .relaxed) == 0)
    }

    // The lock of a distributed table locks no shard.
    @Test(.onOneServer) func `the overview has the uses that are being written`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let key = try await service.makeKey(#""smtp""#)
        for _ in 0..<3 { #expect(try await service.verdict(key.secret) == "valid") }
        let storage = service.storage
        let writing = storage.keyUses.writing
        let isEnded = Ended()
        let administrator = service.database.client(as: service.database.administrator)
        let shown = try await administrator.transaction { transaction in
            try await transaction.query(
                "SELECT 1 FROM tenants WHERE id = \(tenant.id) FOR UPDATE")
            _ = Task {
                await storage.writeKeyUses()
                isEnded.value.store(true, ordering: .relaxed)
            }
            while storage.keyUses.tenants.contains(tenant.id) { await Task.yield() }
            let shown = Task { try await storage.overview(tenant: tenant.id, .hours(24)) }
            // On a slow machine the lock is not waited for as long: then the overview writes by itself.
            while writing.waitingCount == 0, !isEnded.value.load(ordering: .relaxed) {
                await Task.yield()
            }
            return shown
        }
        #expect(try await shown.value?.verifications == 3)
    }

    private final class Ended: Sendable {
        let value = Atomic(false)
    }

    @Test func `an export has the uses of a moment ago`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let user = try await service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"ann@ex.com"}"#, as: .platformOwner)
        let id = try #require(user.json["id"]?.string.flatMap(UUID.init))
        let key = try await service.makeKey(#""smtp""#)
        #expect(try await service.verdict(key.secret) == "valid")
        #expect(service.storage.keyUses.tenants.contains(tenant.id))
        _ = try await service.storage.scope(tenant.id).personRecords(of: id)
        #expect(!service.storage.keyUses.tenants.contains(tenant.id))
    }

    @Test func `a clock that is set back a little does not restart a minute`() {
        let counters = MinuteCounters<String>()
        let start = Timestamp(microseconds: 1_800_000_000_000_000)
        #expect(counters.count("a", at: start.adding(seconds: 60)) == 1)
        #expect(counters.count("a", at: start) == 2)
        #expect(counters.take("a", limit: 2, at: start) == nil)
        #expect(counters.count("a", at: start.adding(seconds: 61)) == 3)
        #expect(counters.count("a", at: start.adding(seconds: 120)) == 1)
        // A clock that was wrong by an hour is followed.
        #expect(counters.count("a", at: start.adding(seconds: -3600)) == 1)
    }
}
