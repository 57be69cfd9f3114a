import Runtime
import Storage
import Synchronization

/// Runs jobs. Each slice of a job is run by one runner; any number of replicas may run any number
/// of jobs.
package final class JobRunner: Sendable {
    /// How long a slice takes at most, so that other tenants' jobs get their turn.
    package static let slice: Duration = .seconds(10)
    /// The number of consecutive failed batches after which the job fails.
    static let attempts = 5
    /// After this many failures a slice begins row by row, so that all rows before the bad one are
    /// done.
    static let cautious = 2
    /// The number of jobs that one process works on at the same time.
    package static let lanes = 4

    private let application: Application
    private let rest: JobRest
    private let kinds: JobKinds
    private let slice: Duration
    private let isStopped = Atomic<Bool>(false)
    /// The number of rounds in progress.
    private let busy = Atomic<Int>(0)
    /// Called before each batch's transaction; for tests.
    package let beforeBatch: @Sendable (JobRow) async throws -> Void

    /// `rest` is how jobs give way to requests; if `nil`, to all that this process answers.
    package init(
        application: Application, kinds: JobKinds = .all, slice: Duration = JobRunner.slice,
        rest: JobRest? = nil,
        beforeBatch: @escaping @Sendable (JobRow) async throws -> Void = { _ in }
    ) {
        self.application = application
        self.rest = rest ?? JobRest { application.metrics.answered }
        self.kinds = kinds
        self.slice = slice
        self.beforeBatch = beforeBatch
    }

    private var database: Database { application.database }

    /// Ends the slices in progress after their current batch.
    package func stop() { isStopped.store(true, ordering: .relaxed) }

    private var stops: Bool { isStopped.load(ordering: .relaxed) }

    /// Works until no job is due, then removes what finished imports have left. Does nothing if all
    /// lanes are already in use.
    package func round() async throws {
        defer { busy.subtract(1, ordering: .relaxed) }
        guard busy.add(1, ordering: .relaxed).newValue <= Self.lanes else { return }
        try await database.releaseJobs()
        while !stops, try await slice() {}
        if !stops { try await database.removeImports() }
    }

    /// Runs one slice of the job that has waited longest; false if there is none.
    package func slice() async throws -> Bool {
        for due in try await database.dueJobs() {
            if let job = try await database.takeJob(due) {
                try await work(on: job)
                return true
            }
            if stops { return false }
        }
        return false
    }

    /// A job uses one connection. Between two batches it holds no row locks.
    private func work(on taken: JobRow) async throws {
        guard let kind = kinds.named(taken.kind) else {
            // A newer version of the service knows this kind.
            return try await database.yieldJob(taken, after: Database.jobLease)
        }
        if taken.attempts >= Self.attempts { return try await fail(taken, kind) }
        let clock = ContinuousClock()
        let start = clock.now
        var job = taken
        var mark = start
        var single = taken.attempts >= Self.cautious ? kind.batch : 0
        while true {
            let (began, before) = (clock.now, rest.answered())
            let row = try await guarded(job) {
                try await self.batch(of: job, kind, isSingle: single > 0, worked: began - mark)
            }
            single -= 1
            mark = began
            guard let row, row.status == .running else { return }
            job = row
            if !stops {
                await rest.after(
                    clock.now - began, answered: rest.answered() - before,
                    until: { stops })
            }
            if stops || clock.now - start > slice {
                return try await database.yieldJob(job)
            }
        }
    }

    private func batch(
        of job: JobRow, _ kind: any JobKind, isSingle: Bool, worked: Duration
    ) async throws -> JobRow? {
        try await beforeBatch(job)
        // An undo has a savepoint for each row, whatever the size of the kind's batches.
        let most = job.isUndoing ? min(kind.batch, JobLimits.batch) : kind.batch
        return try await database.runBatch(
            of: job, limit: isSingle ? 1 : most, worked: Int(worked / .microseconds(1)),
            // A row that succeeds did not cause the earlier failures. Only so many of them stay
            // counted that the runner is still cautious.
            attempts: isSingle ? min(job.attempts, Self.cautious) : 0, rights: { kind.rights($0) },
            body: { work in
                work.job.isUndoing
                    ? try await work.undone(by: kind, self.application)
                    : try await kind.step(work, self.application)
            },
            ended: { try await kind.ended($0, $1) })
    }

    private func fail(_ job: JobRow, _ kind: any JobKind) async throws {
        _ = try await database.failJob(job, reason: "internal_error") {
            try await kind.ended($0, $1)
        }
    }

    /// A failed batch is retried after a while, by any runner.
    private func guarded(
        _ job: JobRow, _ batch: () async throws -> JobRow?
    ) async throws -> JobRow? {
        do {
            return try await batch()
        } catch {
            // The database is unreachable, or the outcome is unknown: the lease decides when to
            // retry.
            if StorageFailure(error) != nil { throw error }
            if job.attempts + 1 >= Self.attempts, let kind = kinds.named(job.kind) {
                try await fail(job, kind)
            } else {
                try await database.yieldJob(job, after: Int64(job.attempts + 1), failed: true)
            }
            throw error
        }
    }
}

/// How a job gives way to requests. A batch keeps a processor and the database busy, and a request
/// that arrives during it waits longer. While requests arrive, batches therefore get so small a
/// share of the time that fewer than one request in a hundred is delayed by one.
package struct JobRest: Sendable {
    /// The number of requests per second from which this process counts as busy; fewer come from a
    /// person who is watching the job.
    static let busy = 40
    /// The minimum number of requests, however short the time: a batch during which fewer arrive is
    /// not followed by a rest.
    static let few = 4
    /// How long the rest is while the process is busy, as a multiple of the batch's time.
    static let times = 149
    /// The longest rest, however long the batch took.
    static let most: Duration = .seconds(15)
    /// How often a rest checks whether requests are still arriving.
    static let part: Duration = .milliseconds(100)

    /// The number of requests that this process has answered.
    let answered: @Sendable () -> Int
    /// Waits without blocking a thread.
    let pause: @Sendable (Duration) async -> Void

    package init(
        pause: @escaping @Sendable (Duration) async -> Void = { await EventLoop.pause($0) },
        answered: @escaping @Sendable () -> Int
    ) {
        self.answered = answered
        self.pause = pause
    }

    /// For jobs that do not give way.
    package static let none = JobRest { 0 }

    /// Rests after a batch that took `time`, during which the process answered `requests`.
    func after(
        _ time: Duration, answered requests: Int, until isOver: () -> Bool = { false }
    ) async {
        var left = min(time * Self.times, Self.most)
        var (seen, during) = (requests, time)
        while left > .zero, !isOver(), Self.isBusy(seen, in: during) {
            let part = min(left, Self.part)
            let before = answered()
            await pause(part)
            left -= part
            (seen, during) = (answered() - before, part)
        }
    }

    static func isBusy(_ requests: Int, in time: Duration) -> Bool {
        requests >= few && Double(requests) >= Double(busy) * (time / .seconds(1))
    }
}
