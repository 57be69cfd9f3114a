import Glibc
import Synchronization

/// Threads for work that occupies a core or blocks in a C library, so that it delays neither an
/// event loop nor Swift's own threads. A thread is started when a job finds none free, up to a
/// fixed number, and then remains. The queue is bounded.
///
/// `@unchecked`: the variables are touched only with `mutex` locked. The two pthread objects keep
/// their addresses until the last thread and the pool have ended.
package final class WorkerPool: @unchecked Sendable {
    package typealias Job = @Sendable () -> Void

    private final class Shared: @unchecked Sendable {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        var jobs: [Job] = []
        var stopping = false
        /// How many threads have started, and how many of them are waiting for a job.
        var (threads, waiting) = (0, 0)

        init() {
            pthread_mutex_init(mutex, nil)
            pthread_cond_init(wake, nil)
        }

        deinit {
            pthread_cond_destroy(wake)
            pthread_mutex_destroy(mutex)
            wake.deallocate()
            mutex.deallocate()
        }

        func work() {
            while true {
                pthread_mutex_lock(mutex)
                waiting += 1
                while jobs.isEmpty, !stopping { pthread_cond_wait(wake, mutex) }
                waiting -= 1
                guard !jobs.isEmpty else {
                    pthread_mutex_unlock(mutex)
                    return
                }
                let job = jobs.removeFirst()
                pthread_mutex_unlock(mutex)
                job()
            }
        }

        /// Starts a thread. Returns false if the system refuses. Call it with `mutex` locked.
        func startThread() -> Bool {
            var thread = pthread_t()
            let context = Unmanaged.passRetained(self)
            let status = pthread_create(
                &thread, nil,
                { raw in
                    if let raw { Unmanaged<Shared>.fromOpaque(raw).takeRetainedValue().work() }
                    return nil
                }, context.toOpaque())
            guard status == 0 else {
                context.release()
                return false
            }
            pthread_detach(thread)
            threads += 1
            return true
        }
    }

    private let shared = Shared()
    private let threadLimit: Int
    private let queueLimit: Int

    /// Makes a pool that runs at most `threads` jobs at the same time. At most `queueLimit` more
    /// can wait.
    package init(threads: Int, queueLimit: Int) {
        threadLimit = max(1, threads)
        self.queueLimit = queueLimit
    }

    deinit {
        pthread_mutex_lock(shared.mutex)
        shared.stopping = true
        pthread_cond_broadcast(shared.wake)
        pthread_mutex_unlock(shared.mutex)
    }

    /// Adds a job. Returns false, and never runs the job, if the queue is full or if the pool has
    /// no thread and the system refuses to start one.
    package func submit(_ job: @escaping Job) -> Bool {
        pthread_mutex_lock(shared.mutex)
        defer { pthread_mutex_unlock(shared.mutex) }
        guard shared.jobs.count < queueLimit else { return false }
        if shared.waiting <= shared.jobs.count, shared.threads < threadLimit {
            guard shared.startThread() || shared.threads > 0 else { return false }
        }
        shared.jobs.append(job)
        pthread_cond_signal(shared.wake)
        return true
    }

    /// Runs `work` on a thread of the pool and returns its result, without blocking the caller's
    /// thread. Returns `nil`, and never runs `work`, if the queue is full.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            if !submit({ continuation.resume(returning: work()) }) {
                continuation.resume(returning: nil)
            }
        }
    }
}

/// Limits how many tasks with the same key run at once, so that slow tasks delay only tasks with
/// the same key. Further tasks wait, up to a limit for each key. Tasks of the same key can belong
/// to different groups, which then take turns.
package final class FairSlots<Key: Hashable & Sendable>: Sendable {
    private struct Waiter {
        var group: Int
        /// How many waiters of the same group are before this one.
        var round: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct Line {
        var running = 0
        var waiting: [Waiter] = []

        /// Inserts a waiter behind every waiter whose `round` is the same or lower. So the groups
        /// take turns.
        mutating func add(_ continuation: CheckedContinuation<Void, Never>, of group: Int) {
            let round = waiting.count { $0.group == group }
            let place = waiting.firstIndex { $0.round > round } ?? waiting.endIndex
            waiting.insert(
                Waiter(group: group, round: round, continuation: continuation), at: place)
        }

        mutating func next() -> CheckedContinuation<Void, Never> {
            let first = waiting.removeFirst()
            for index in waiting.indices where waiting[index].group == first.group {
                waiting[index].round -= 1
            }
            return first.continuation
        }
    }

    private let waitingLimit: Int
    private let lines = Mutex<[Key: Line]>([:])

    /// Makes slots. `waitingLimit` is how many tasks may wait for each key.
    package init(waitingLimit: Int) { self.waitingLimit = waitingLimit }

    /// Waits for one of the key's `limit` slots. Returns false if too many tasks wait already. If
    /// it returns true, call `leave` afterwards. `group` says on whose behalf the task runs: many
    /// tasks of one group do not keep another group waiting for long.
    package func enter(_ key: Key, limit: Int, group: Int = 0) async -> Bool {
        var isIn = false
        await withCheckedContinuation { continuation in
            let isOver = lines.withLock { lines -> Bool in
                var line = lines[key] ?? Line()
                if line.running < limit {
                    line.running += 1
                    isIn = true
                } else if line.waiting.count < waitingLimit {
                    // The task has a slot when it continues, because a task that leaves passes its
                    // slot to the next waiter.
                    line.add(continuation, of: group)
                    isIn = true
                    lines[key] = line
                    return false
                }
                lines[key] = line
                return true
            }
            if isOver { continuation.resume() }
        }
        return isIn
    }

    /// Returns how many tasks wait for a slot of the key.
    package func waiting(_ key: Key) -> Int { lines.withLock { $0[key]?.waiting.count ?? 0 } }

    package func leave(_ key: Key) {
        let next = lines.withLock { lines -> CheckedContinuation<Void, Never>? in
            guard var line = lines[key] else { return nil }
            if !line.waiting.isEmpty {
                let next = line.next()
                lines[key] = line
                return next
            }
            line.running -= 1
            lines[key] = line.running > 0 ? line : nil
            return nil
        }
        next?.resume()
    }
}
