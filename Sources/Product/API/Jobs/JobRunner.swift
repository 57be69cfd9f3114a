import Runtime
import Storage
import Synchronization

/// Runs jobs in slices. A slice belongs to one runner. Any number of replicas may run jobs at the
/// same time.
package final class JobRunner: Sendable {
    /// The maximum duration of a slice, so that other tenants' jobs get their turn.
    package static let slice: Duration = .seconds(10)
    /// The number of consecutive failed batches after which the job fails.
    static let attempts = 5
    /// The number of consecutive failed batches after which a slice begins with batches of one row.
    /// The rows before the row that fails are then completed.
    static let cautious = 2
    /// The number of jobs that one process works on at the same time.
    package static let lanes = 4

    private let application: Application
    private let rest: JobRest
    private let kinds: JobKinds
    private let slice: Duration
    private let isStopped = Atomic<Bool>(false)
    /// The number of calls of `round` in progress.
    private let busy = Atomic<Int>(0)
    /// Called before the transaction of each batch. Tests use it.
    let beforeBatch: @Sendable (JobRow) async throws -> Void

    /// `rest` decides how long a job pauses to let requests through. The default depends on the
    /// number of requests that this process answers.
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

    /// Makes the slices in progress end after their current batch.
    package func stop() { isStopped.store(true, ordering: .relaxed) }

    private var stops: Bool { isStopped.load(ordering: .relaxed) }

    /// Runs slices until no job is due. Then removes the stored rows of finished imports. Does
    /// nothing if `lanes` rounds are already in progress.
    package func round() async throws {
        defer { busy.subtract(1, ordering: .relaxed) }
        guard busy.add(1, ordering: .relaxed).newValue <= Self.lanes else { return }
        try await database.releaseJobs()
        while !stops, try await slice() {}
        if !stops { try await database.removeImports() }
    }

    /// Runs one slice of the job that has waited longest. Returns false if no job is due.
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

    /// Runs a slice of a job. It uses one database connection, and holds no row locks between two
    /// batches.
    private func work(on taken: JobRow) async throws {
        guard let kind = kinds.named(taken.kind) else {
            // Only a newer version of the service knows this kind, so another replica must run it.
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
        // An undo takes one savepoint for each row, so `JobLimits.batch` limits it even if the
        // kind's batches are larger.
        let most = job.isUndoing ? min(kind.batch, JobLimits.batch) : kind.batch
        return try await database.runBatch(
            of: job, limit: isSingle ? 1 : most, worked: Int(worked / .microseconds(1)),
            // A batch of one row that succeeds did not cause the earlier failures. The number of
            // failures is lowered to `cautious`, so that the next slice still begins row by row.
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

    /// Runs a batch. If it fails, any runner may try it again later.
    private func guarded(
        _ job: JobRow, _ batch: () async throws -> JobRow?
    ) async throws -> JobRow? {
        do {
            return try await batch()
        } catch {
            switch StorageFailure(error) {
            // The job becomes due again when its lease ends.
            case .unavailable, .commitUnknown: throw error
            default: break
            }
            if job.attempts + 1 >= Self.attempts, let kind = kinds.named(job.kind) {
                try await fail(job, kind)
            } else {
                try await database.yieldJob(job, after: Int64(job.attempts + 1), failed: true)
            }
            throw error
        }
    }
}

/// Decides how long a job pauses after each batch. A batch uses a processor and the database, and
/// delays the requests that arrive meanwhile. While many requests arrive, the pauses are so long
/// that batches delay fewer than one request in a hundred.
package struct JobRest: Sendable {
    /// The number of requests per second from which this process counts as busy. A person who
    /// watches a job causes fewer requests.
    static let busy = 40
    /// The number of requests below which this process never counts as busy, however short the
    /// measured time is.
    static let few = 4
    /// The length of the pause while the process is busy, as a multiple of the batch's duration.
    static let times = 149
    /// The maximum length of the pause, however long the batch took.
    static let most: Duration = .seconds(15)
    /// The interval at which a pause checks whether requests still arrive.
    static let part: Duration = .milliseconds(100)

    /// Returns the number of requests that this process has answered so far.
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

    /// Never pauses.
    package static let none = JobRest { 0 }

    /// Pauses after a batch that took `time`, during which the process answered `requests`. The
    /// pause ends early if `isOver` returns true or the process is no longer busy.
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
