import API
import Domain
import Gatehouse
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing
import Text

/// How the jobs of many tenants share a process.
@Suite(.cleansUp) struct JobTurnTests {
    private struct Place {
        let tenants: [JobFixture]
        var clock: TestClock { tenants[0].clock }

        /// One job of each tenant, each a second after the one before.
        func jobs() async throws -> [UUID] {
            var ids: [UUID] = []
            for (number, tenant) in tenants.enumerated() {
                clock.advance(seconds: 1)
                ids.append(
                    try await tenant.job(by: try await tenant.maker(name: "maker\(number)")))
            }
            return ids
        }

        func status(_ job: UUID, of tenant: JobFixture) async throws -> JobRow.Status {
            try await tenant.row(job).status
        }
    }

    private func make(tenants: Int, users: Int) async throws -> Place {
        let first = try await JobFixture.make(users: users)
        var all = [first]
        for number in 1..<tenants {
            let tenant = try await first.service.makeTenant("other-\(number)")
            try await first.service.storage.addUsers(1...users, to: tenant.id)
            all.append(
                JobFixture(
                    base: UserFixture(service: first.service, tenant: tenant), clock: first.clock))
        }
        return Place(tenants: all)
    }

    @Test func `a long job gives way to another tenant's when its slice ends`()
        async throws
    {
        let place = try await make(tenants: 2, users: 45)
        let jobs = try await place.jobs()
        let turns = Mutex<[UUID]>([])
        let runner = JobRunner(
            application: place.tenants[0].service.composition.application,
            kinds: JobKinds([Marking()]), slice: .zero,
            beforeBatch: { job in
                place.clock.advance(seconds: 1)
                turns.withLock { $0.append(job.id) }
            })
        // Two whole batches of each, and the rest.
        for _ in 0..<6 { #expect(try await runner.slice()) }
        #expect(turns.withLock { $0 } == [jobs[0], jobs[1], jobs[0], jobs[1], jobs[0], jobs[1]])
        #expect(try await !runner.slice())
        for (job, tenant) in zip(jobs, place.tenants) {
            #expect(try await tenant.row(job).done == 45)
            #expect(try await place.status(job, of: tenant) == .done)
        }
    }

    @Test func `a job continues until its slice ends`() async throws {
        let place = try await make(tenants: 2, users: 45)
        let jobs = try await place.jobs()
        let runner = place.tenants[0].runner()
        #expect(try await runner.slice())
        #expect(try await place.status(jobs[0], of: place.tenants[0]) == .done)
        #expect(try await place.status(jobs[1], of: place.tenants[1]) == .queued)
        #expect(JobRunner.slice == .seconds(10))
    }

    @Test func `a process works on four jobs at most`() async throws {
        let place = try await make(tenants: JobRunner.lanes + 2, users: 5)
        let jobs = try await place.jobs()
        place.clock.advance(seconds: 1)
        let (worked, arrivals) = AsyncStream<Void>.makeStream()
        let gate = Gate()
        let begun = Atomic<Int>(0)
        let runner = place.tenants[0].runner(beforeBatch: { _ in
            // One too many is not held, so that it shows.
            guard begun.add(1, ordering: .relaxed).newValue <= JobRunner.lanes else { return }
            arrivals.yield()
            await gate.wait()
        })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<JobRunner.lanes { group.addTask { try await runner.round() } }
            var waiting = worked.makeAsyncIterator()
            for _ in 0..<JobRunner.lanes { await waiting.next() }
            // All lanes are at work: another round of the process finds none free.
            try await runner.round()
            for (number, job) in jobs.enumerated() {
                let status = try await place.status(job, of: place.tenants[number])
                #expect(status == (number < JobRunner.lanes ? .running : .queued), "\(number)")
            }
            gate.open()
            try await group.waitForAll()
        }
        // The lanes that were at work went on with what was left.
        for (job, tenant) in zip(jobs, place.tenants) {
            #expect(try await place.status(job, of: tenant) == .done)
        }
    }
}

/// Holds all who come until it is opened.
private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, held: [CheckedContinuation<Void, Never>])>((false, []))

    func wait() async {
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state in
                if !state.isOpen { state.held.append(continuation) }
                return state.isOpen
            }
            if passes { continuation.resume() }
        }
    }

    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }
}
