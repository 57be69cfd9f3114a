import Storage
import Synchronization
import Testing

/// How many are inside at once.
private final class Room: Sendable {
    private let counts = Mutex<(now: Int, most: Int, done: Int)>((0, 0, 0))
    var most: Int { counts.withLock { $0.most } }
    var done: Int { counts.withLock { $0.done } }

    func stay() async {
        counts.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
        }
        await Task.yield()
        counts.withLock {
            $0.now -= 1
            $0.done += 1
        }
    }
}

/// Who came in, in this order.
private final class Order: Sendable {
    private let entered = Mutex<[String]>([])
    var names: [String] { entered.withLock { $0 } }
    func note(_ name: String) { entered.withLock { $0.append(name) } }
}

private final class Hand: Sendable {
    private let time = Mutex<ContinuousClock.Instant>(.now)
    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func advance(_ duration: Duration) { time.withLock { $0 += duration } }
}

struct PersonQueueTests {
    @Test func `attempts under one key run one after another and do not delay others`()
        async throws
    {
        let queue = PersonLock()
        let room = Room()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                // Two kinds of keys, crossing: no two wait for each other.
                let keys = ["subject \(number % 3)", "address a"]
                group.addTask {
                    try await queue.withExclusive(keys: keys) { await room.stay() }
                }
            }
            try await group.waitForAll()
        }
        #expect(room.most == 1)
        #expect(room.done == 200)
        try await queue.withExclusive(keys: ["a"]) {
            try await queue.withExclusive(keys: ["b"]) {}
        }
    }

    @Test func `a queue of one caller's attempts does not keep another caller from the person`()
        async throws
    {
        let queue = PersonLock()
        let order = Order()
        try await withThrowingTaskGroup(of: Void.self) { group in
            func wait(_ caller: String) async {
                let before = queue.waitingCount
                group.addTask {
                    try await queue.withExclusive(keys: ["a"], by: caller) { order.note(caller) }
                }
                while queue.waitingCount == before { await Task.yield() }
            }
            try await queue.withExclusive(keys: ["a"], by: "evil") {
                for _ in 0..<20 { await wait("evil") }
                await wait("victim")
            }
            try await group.waitForAll()
        }
        #expect(order.names.first == "victim")
        #expect(order.names.count == 21)
        #expect(queue.waitingCount == 0)
    }

    @Test func `one caller gets at most half of the waiting places`() async throws {
        let queue = PersonLock()
        let refused = Order()
        let most = PersonLock.waitingLimitOfCaller
        try await withThrowingTaskGroup(of: Void.self) { group in
            func wait(_ caller: String) {
                group.addTask {
                    do {
                        try await queue.withExclusive(keys: ["a"], by: caller) {}
                    } catch { refused.note(caller) }
                }
            }
            func settle(_ count: Int) async {
                while queue.waitingCount + refused.names.count < count { await Task.yield() }
            }
            try await queue.withExclusive(keys: ["a"]) {
                for _ in 0..<(most + 5) { wait("evil") }
                await settle(most + 5)
                #expect(refused.names.count == 5)
                wait("victim")
                await settle(most + 6)
                #expect(refused.names.count == 5)
            }
            try await group.waitForAll()
        }
        #expect(queue.waitingCount == 0)
    }

    @Test func `a caller who waited too long is refused, and the queue continues`() async throws {
        let hand = Hand()
        let queue = PersonLock(patience: .seconds(2), now: { hand.now })
        try await withThrowingTaskGroup(of: Bool.self) { group in
            try await queue.withExclusive(keys: ["a"]) {
                group.addTask { (try? await queue.withExclusive(keys: ["a"]) { true }) ?? false }
                while queue.waitingCount == 0 { await Task.yield() }
                hand.advance(.seconds(3))
            }
            #expect(try await group.next() == false)
        }
        #expect(queue.waitingCount == 0)
        try await queue.withExclusive(keys: ["a"]) {}
    }

    @Test func `the wait for one key and then for another has one deadline`() async throws {
        let hand = Hand()
        let queue = PersonLock(patience: .seconds(2), now: { hand.now })
        try await withThrowingTaskGroup(of: (String, Bool).self) { group in
            func enter(_ keys: [String], called name: String) async {
                let before = queue.waitingCount
                group.addTask {
                    (name, (try? await queue.withExclusive(keys: keys) { true }) ?? false)
                }
                while queue.waitingCount == before { await Task.yield() }
            }
            try await queue.withExclusive(keys: ["b"]) {
                try await queue.withExclusive(keys: ["a"]) {
                    await enter(["a", "b"], called: "both")
                    hand.advance(.seconds(1))
                    await enter(["b"], called: "one")
                }
                // Let in at the first key after 1 s, and behind the younger at the second.
                while queue.waitingCount < 2 { await Task.yield() }
                hand.advance(.milliseconds(1500))
            }
            var answers: [String: Bool] = [:]
            for try await (name, isIn) in group { answers[name] = isIn }
            #expect(answers == ["both": false, "one": true])
        }
        #expect(queue.waitingCount == 0)
    }
}
