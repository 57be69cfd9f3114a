import Glibc

/// A fixed number of threads for work that occupies a core or blocks in a C library, so that it
/// stalls neither the event loop nor the concurrency pool. The queue is bounded.
///
/// `@unchecked`: `jobs` and `stopping` are touched only with `mutex` held, and the two pthread
/// objects have fixed addresses until the last thread and the pool have ended.
package final class WorkerPool: @unchecked Sendable {
    package typealias Job = @Sendable () -> Void

    private final class Shared: @unchecked Sendable {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        var jobs: [Job] = []
        var stopping = false

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
                while jobs.isEmpty, !stopping { pthread_cond_wait(wake, mutex) }
                guard !jobs.isEmpty else {
                    pthread_mutex_unlock(mutex)
                    return
                }
                let job = jobs.removeFirst()
                pthread_mutex_unlock(mutex)
                job()
            }
        }
    }

    private let shared = Shared()
    private let queueLimit: Int

    package init(threads: Int, queueLimit: Int) {
        self.queueLimit = queueLimit
        for _ in 0..<max(1, threads) {
            var thread = pthread_t()
            let context = Unmanaged.passRetained(shared)
            let status = pthread_create(
                &thread, nil,
                { raw in
                    if let raw { Unmanaged<Shared>.fromOpaque(raw).takeRetainedValue().work() }
                    return nil
                }, context.toOpaque())
            if status == 0 { pthread_detach(thread) } else { context.release() }
        }
    }

    deinit {
        pthread_mutex_lock(shared.mutex)
        shared.stopping = true
        pthread_cond_broadcast(shared.wake)
        pthread_mutex_unlock(shared.mutex)
    }

    /// False if the queue is full; the job then never runs.
    package func submit(_ job: @escaping Job) -> Bool {
        pthread_mutex_lock(shared.mutex)
        defer { pthread_mutex_unlock(shared.mutex) }
        guard shared.jobs.count < queueLimit else { return false }
        shared.jobs.append(job)
        pthread_cond_signal(shared.wake)
        return true
    }

    /// Waits without blocking a thread; nil if the queue is full, and `work` then never runs.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            if !submit({ continuation.resume(returning: work()) }) {
                continuation.resume(returning: nil)
            }
        }
    }
}
