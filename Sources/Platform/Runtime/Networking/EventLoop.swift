import CLinux
import Glibc
import Synchronization

/// One thread with its own epoll. The loop is a task executor: tasks that are spawned on it run
/// only on its thread, so state that only they use needs no lock.
///
/// `@unchecked Sendable`: every stored property but `remote` is used on the loop's own thread only
/// (`assertOnLoop` checks this in the entry points); `remote` is behind a mutex.
package final class EventLoop: TaskExecutor, SerialExecutor, @unchecked Sendable {
    /// Receives the events of a descriptor. After a hang-up or an error, `readable` is true, and so
    /// is `writable` if writing is watched.
    package typealias Ready = (_ readable: Bool, _ writable: Bool) -> Void

    private struct Watch {
        var mask: UInt32
        var generation: UInt32
        var ready: Ready
    }

    private struct Remote {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
    }

    /// The number of this loop among the process's loops, from 0.
    package let index: Int
    private let epoll: Int32
    private let wakeup: Int32
    private var thread: pthread_t?
    private var watches: [Int32: Watch] = [:]
    private var generation: UInt32 = 0
    private var jobs: [UnownedJob] = []
    private var running: [UnownedJob] = []
    private var cycleEnds: [() -> Bool] = []
    private var timers = TimerQueue()
    private var stopping = false
    private let remote = Mutex(Remote())
    /// The time in monotonic nanoseconds, read once in each cycle.
    package private(set) var now: Int64 = gh_monotonic()

    /// Creates the loop's descriptors. `start` creates its thread.
    package init(index: Int) {
        self.index = index
        epoll = gh_epoll_create()
        wakeup = gh_eventfd()
        _ = gh_epoll_add(epoll, wakeup, UInt32(GH_READABLE), UInt64(UInt32(bitPattern: wakeup)))
    }

    /// Starts the loop's thread, which runs until `stop()`.
    package func start() {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 2 << 20)
        var started = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let code = pthread_create(
            &started, &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(code == 0, "no thread for an event loop")
        pthread_detach(started)
    }

    /// Ends the thread after the current cycle. May be called from any thread.
    package func stop() { perform { [unowned self] in stopping = true } }

    /// Whether the caller is on the loop's own thread; false before `start`.
    package var isCurrent: Bool {
        guard let thread else { return false }
        return pthread_equal(pthread_self(), thread) != 0
    }

    /// The loop whose thread is calling; `nil` on any other thread.
    package static var current: EventLoop? {
        pthread_getspecific(currentKey).map {
            Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue()
        }
    }

    private static let currentKey: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// Starts an async function on this loop. If the caller is on the loop, the function runs at
    /// once up to its first suspension; otherwise it is queued.
    package func spawn(_ operation: @escaping @Sendable () async -> Void) {
        if isCurrent {
            Task.immediateDetached(executorPreference: self) { await operation() }
        } else {
            Task.detached(executorPreference: self) { await operation() }
        }
    }

    /// Runs a function on the loop's thread, in one of its next cycles. May be called from any
    /// thread.
    package func perform(_ call: @escaping @Sendable () -> Void) {
        remote.withLock { $0.calls.append(call) }
        wake()
    }

    /// Runs a job of Swift's concurrency runtime in the loop's next cycle.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            jobs.append(job)
        } else {
            remote.withLock { $0.jobs.append(job) }
            wake()
        }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() { precondition(isCurrent, "not on the event loop") }

    /// Whether the caller is on the loop's thread. Never `nil`, because the loop always knows.
    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Calls `call` at the end of every cycle, for example to send batched work, until it returns
    /// false. Call this on the loop.
    package func atCycleEnd(_ call: @escaping () -> Bool) {
        assertOnLoop()
        cycleEnds.append(call)
    }

    /// Watches a descriptor, level-triggered. A hang-up or an error is reported as readable and, if
    /// writing is watched, also as writable. Call this on the loop, and only once for each
    /// descriptor.
    package func watch(
        _ descriptor: Int32, readable: Bool = true, writable: Bool = false, ready: @escaping Ready
    ) {
        assertOnLoop()
        generation &+= 1
        let mask = Self.mask(readable, writable)
        watches[descriptor] = Watch(mask: mask, generation: generation, ready: ready)
        _ = gh_epoll_add(epoll, descriptor, mask, token(descriptor, generation))
    }

    /// Changes which events of a descriptor are watched; does nothing if the descriptor is not
    /// watched. Call this on the loop.
    package func rewatch(_ descriptor: Int32, readable: Bool, writable: Bool) {
        assertOnLoop()
        let mask = Self.mask(readable, writable)
        guard var watch = watches[descriptor], watch.mask != mask else { return }
        watch.mask = mask
        watches[descriptor] = watch
        _ = gh_epoll_modify(epoll, descriptor, mask, token(descriptor, watch.generation))
    }

    package func unwatch(_ descriptor: Int32) {
        assertOnLoop()
        guard watches.removeValue(forKey: descriptor) != nil else { return }
        _ = gh_epoll_remove(epoll, descriptor)
    }

    /// Calls `call` once on the loop, after this many nanoseconds. Call this on the loop.
    @discardableResult
    package func after(_ nanoseconds: Int64, _ call: @escaping () -> Void) -> TimerID {
        assertOnLoop()
        return timers.add(deadline: gh_monotonic() + nanoseconds, call)
    }

    /// Cancels a timer; does nothing if it has fired. Call this on the loop.
    package func cancel(_ timer: TimerID) {
        assertOnLoop()
        timers.cancel(timer)
    }

    private func run() {
        thread = pthread_self()
        pthread_setspecific(Self.currentKey, Unmanaged.passUnretained(self).toOpaque())
        // With this scheduling policy, the loop does not interrupt another process on the same
        // core, mainly PostgreSQL, as soon as the first 8 KB of that process's response arrive. The
        // loop runs when the other process waits, and then finds more to do at once.
        gh_prefer_throughput()
        let capacity = 512
        let events = UnsafeMutablePointer<gh_event>.allocate(capacity: capacity)
        defer { events.deallocate() }
        while !stopping {
            now = gh_monotonic()
            let wait = jobs.isEmpty ? timers.milliseconds(until: now, limit: 1000) : 0
            let count = Int(gh_epoll_wait(epoll, events, Int32(capacity), Int32(wait)))
            now = gh_monotonic()
            for index in 0..<max(0, count) { dispatch(events + index) }
            while let call = timers.takeDue(now) { call() }
            drainJobs()
            endCycle()
        }
        drainJobs()
        close(epoll)
        close(wakeup)
    }

    private func endCycle() {
        var index = 0
        while index < cycleEnds.count {
            if cycleEnds[index]() { index += 1 } else { cycleEnds.remove(at: index) }
        }
    }

    private func dispatch(_ event: UnsafeMutablePointer<gh_event>) {
        let token = event.pointee.token
        let mask = event.pointee.mask
        let descriptor = Int32(truncatingIfNeeded: token & 0xFFFF_FFFF)
        if descriptor == wakeup { return takeRemote() }
        // Skip the event if an earlier event of this batch has closed the descriptor, even if a new
        // descriptor has the same number.
        guard let watch = watches[descriptor],
            watch.generation == UInt32(truncatingIfNeeded: token >> 32)
        else { return }
        let trouble = mask & (UInt32(GH_HANGUP) | UInt32(GH_ERROR)) != 0
        let readable = trouble || mask & UInt32(GH_READABLE) != 0
        let writable =
            mask & UInt32(GH_WRITABLE) != 0
            || (trouble && watch.mask & UInt32(GH_WRITABLE) != 0)
        watch.ready(readable, writable)
    }

    private func takeRemote() {
        var count: UInt64 = 0
        _ = read(wakeup, &count, 8)
        let taken = remote.withLock { state in
            let taken = state
            state = Remote()
            return taken
        }
        jobs.append(contentsOf: taken.jobs)
        for call in taken.calls { call() }
    }

    private func drainJobs() {
        let executor = asUnownedTaskExecutor()
        while !jobs.isEmpty {
            swap(&jobs, &running)
            for job in running { job.runSynchronously(on: executor) }
            running.removeAll(keepingCapacity: true)
        }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, 8)
    }

    private func assertOnLoop() { assert(isCurrent, "call on the event loop") }

    private func token(_ descriptor: Int32, _ generation: UInt32) -> UInt64 {
        UInt64(UInt32(bitPattern: descriptor)) | UInt64(generation) << 32
    }

    private static func mask(_ readable: Bool, _ writable: Bool) -> UInt32 {
        (readable ? UInt32(GH_READABLE) : 0) | (writable ? UInt32(GH_WRITABLE) : 0)
    }
}

/// Identifies a timer of one event loop; it has no meaning on another loop.
package struct TimerID: Hashable, Sendable {
    fileprivate let number: UInt64
}

/// Timers in a binary heap, by their times. A cancelled timer remains in the heap until its time
/// and is then skipped.
struct TimerQueue {
    private struct Entry {
        var deadline: Int64
        var number: UInt64
    }

    private var heap: [Entry] = []
    private var calls: [UInt64: () -> Void] = [:]
    private var next: UInt64 = 0

    mutating func add(deadline: Int64, _ call: @escaping () -> Void) -> TimerID {
        next += 1
        calls[next] = call
        heap.append(Entry(deadline: deadline, number: next))
        siftUp(heap.count - 1)
        return TimerID(number: next)
    }

    mutating func cancel(_ timer: TimerID) {
        calls[timer.number] = nil
        // Remove cancelled entries from time to time. Otherwise they would accumulate, because
        // every request sets a distant timer and cancels it.
        if heap.count > 64, calls.count * 2 < heap.count { compact() }
    }

    /// Returns how many milliseconds epoll may sleep, rounded up, so that no timer fires early.
    mutating func milliseconds(until now: Int64, limit: Int) -> Int {
        while let first = heap.first, calls[first.number] == nil { removeFirst() }
        guard let first = heap.first else { return limit }
        return min(limit, max(0, Int((first.deadline - now + 999_999) / 1_000_000)))
    }

    /// Removes and returns one call whose time has come; `nil` if there is none. It returns only
    /// one at a time, because a call may itself set timers.
    mutating func takeDue(_ now: Int64) -> (() -> Void)? {
        while let first = heap.first, first.deadline <= now {
            removeFirst()
            if let call = calls.removeValue(forKey: first.number) { return call }
        }
        return nil
    }

    private mutating func compact() {
        heap.removeAll { calls[$0.number] == nil }
        heap.sort { $0.deadline < $1.deadline }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].deadline < heap[parent].deadline else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

extension EventLoop {
    /// Suspends the task for a duration without blocking a thread. Returns at once if it is called
    /// outside a loop.
    package static func pause(_ duration: Duration) async {
        await withCheckedContinuation { continuation in
            guard let loop = current else { return continuation.resume() }
            let (seconds, attoseconds) = duration.components
            loop.after(seconds * 1_000_000_000 + attoseconds / 1_000_000_000) {
                continuation.resume()
            }
        }
    }
}

/// Carries a value that belongs to one loop through code on other threads.
///
/// `@unchecked Sendable`: the value can be accessed on its loop's thread only, which `value` checks
/// in every build. It may be created and released on any thread, so it must not own anything that
/// only the loop may free.
package struct LoopBound<Value>: @unchecked Sendable {
    private let held: Value
    package let loop: EventLoop

    package init(_ value: Value, loop: EventLoop) {
        held = value
        self.loop = loop
    }

    package var value: Value {
        precondition(loop.isCurrent, "reached from outside its event loop")
        return held
    }
}

/// A clock of nanoseconds since the machine started; the time in which the machine slept counts
/// too.
package enum BootClock {
    package static var now: Int64 { gh_boottime() }
}
