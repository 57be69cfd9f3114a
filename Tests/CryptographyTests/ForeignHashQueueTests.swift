import Glibc
import Synchronization
import Testing
import Text

@testable import Cryptography

/// A door that work waits at. `@unchecked`: a semaphore may be used by any thread.
private final class Door: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }
    deinit { semaphore.deallocate() }

    func open() { sem_post(semaphore) }
    func pass() { while sem_wait(semaphore) != 0 {} }
}

/// How many run, and how many ran at once.
private final class Counter: Sendable {
    private let counts = Mutex((running: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func enter() {
        counts.withLock {
            $0.running += 1
            $0.most = max($0.most, $0.running)
        }
    }

    func leave() { counts.withLock { $0.running -= 1 } }
}

/// The order in which accounts had their turns.
private final class Turns: Sendable {
    private let accounts = Mutex<[Int]>([])

    var all: [Int] { accounts.withLock { $0 } }

    func add(_ account: Int) { accounts.withLock { $0.append(account) } }
}

@Suite struct ForeignHashQueueTests {
    @Test func `one foreign hash of a tenant runs at once`() async throws {
        let queue = ForeignHashQueue(threads: 4)
        let tenant = UUID.random()
        let counter = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<ForeignHashQueue.waitingLimit {
                group.addTask {
                    try await queue.alone(tenant) { () -> Result<Void, PasswordFault> in
                        counter.enter()
                        sched_yield()
                        counter.leave()
                        return .success(())
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(counter.most == 1)
    }

    @Test func `a tenant waits for no other`() async throws {
        let queue = ForeignHashQueue(threads: 2)
        let door = Door()
        async let slow = queue.alone(UUID.random()) { () -> Result<Int, PasswordFault> in
            door.pass()
            return .success(1)
        }
        // Opens the door, and would never run if it waited for the first.
        let quick = try await queue.alone(UUID.random()) { () -> Result<Int, PasswordFault> in
            door.open()
            return .success(2)
        }
        #expect(quick == 2)
        #expect(try await slow == 1)
    }

    @Test func `the accounts of a tenant take turns`() async throws {
        let queue = ForeignHashQueue(threads: 2)
        let tenant = UUID.random()
        let (began, done) = (Door(), Door())
        let turns = Turns()
        async let first = queue.alone(tenant, account: 1) { () -> Result<Int, PasswordFault> in
            began.open()
            done.pass()
            return .success(0)
        }
        _ = try await queue.alone(UUID.random()) { () -> Result<Int, PasswordFault> in
            began.pass()
            return .success(0)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, account) in [1, 1, 1, 1, 2].enumerated() {
                group.addTask {
                    _ = try await queue.alone(tenant, account: account) {
                        () -> Result<Int, PasswordFault> in
                        turns.add(account)
                        return .success(account)
                    }
                }
                // Each waits before the next comes.
                while queue.waiting(tenant) <= number { await Task.yield() }
            }
            done.open()
            try await group.waitForAll()
        }
        #expect(try await first == 0)
        #expect(turns.all == [1, 2, 1, 1, 1])
    }

    @Test func `beyond the queue of a tenant the answer is busy`() async throws {
        let queue = ForeignHashQueue(threads: 2, waitingLimit: 0)
        let tenant = UUID.random()
        let (began, done) = (Door(), Door())
        async let first = queue.alone(tenant) { () -> Result<Int, PasswordFault> in
            began.open()
            done.pass()
            return .success(1)
        }
        // The other tenant's work runs on the other thread until the first has begun.
        _ = try await queue.alone(UUID.random()) { () -> Result<Int, PasswordFault> in
            began.pass()
            return .success(0)
        }
        await #expect(throws: PasswordFault.busy) {
            try await queue.alone(tenant) { () -> Result<Int, PasswordFault> in .success(2) }
        }
        done.open()
        #expect(try await first == 1)
        #expect(try await queue.alone(tenant) { .success(3) } == 3)
    }
}
