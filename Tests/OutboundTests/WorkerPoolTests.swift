import Glibc
import Runtime
import Synchronization
import Testing

/// A place where jobs wait until a number of them have come, and how many were there at once.
/// `@unchecked`: any thread may use the barrier.
private final class Meeting: @unchecked Sendable {
    private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)
    private let counts = Mutex((now: 0, most: 0))

    init(of jobs: UInt32) { pthread_barrier_init(barrier, nil, jobs) }

    deinit {
        pthread_barrier_destroy(barrier)
        barrier.deallocate()
    }

    var most: Int { counts.withLock { $0.most } }

    func attend() {
        counts.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
        }
        pthread_barrier_wait(barrier)
        counts.withLock { $0.now -= 1 }
    }
}

@Test(.timeLimit(.minutes(1)))
func `no more jobs run at once than there are threads`() async {
    let pool = WorkerPool(threads: 3, queueLimit: 30)
    let meeting = Meeting(of: 3)
    await withTaskGroup(of: Void?.self) { group in
        for _ in 0..<30 { group.addTask { await pool.run { meeting.attend() } } }
        for await done in group { #expect(done != nil) }
    }
    #expect(meeting.most == 3)
}
