import Storage
import Synchronization
import Testing

@testable import API

/// A job gives way to requests.
struct JobRestTests {
    /// Rests after a batch of 100 ms; `requests` are answered during each of the parts, the first
    /// during the batch.
    private func rested(
        _ requests: [Int], after time: Duration = .milliseconds(100), endsAfter parts: Int = .max
    ) async -> Duration {
        let state = Mutex((rested: Duration.zero, answered: 0, at: 1))
        let rest = JobRest(
            pause: { time in
                state.withLock {
                    $0.rested += time
                    $0.answered += $0.at < requests.count ? requests[$0.at] : 0
                    $0.at += 1
                }
            },
            answered: { state.withLock { $0.answered } })
        await rest.after(time, answered: requests[0]) {
            state.withLock { $0.at > parts }
        }
        return state.withLock { $0.rested }
    }

    @Test func `without requests a job does not rest`() async {
        #expect(await rested([0, 50, 50]) == .zero)
        #expect(await rested([1, 50, 50]) == .zero)
    }

    @Test func `while requests come a batch has one part in 150 of the time`() async {
        #expect(await rested(Array(repeating: 50, count: 200)) == .milliseconds(14_900))
    }

    @Test func `the rest ends when the requests do`() async {
        #expect(await rested([50, 50, 0, 50, 50]) == .milliseconds(200))
    }

    @Test func `a long batch does not rest for longer than 15 seconds`() async {
        let requests = [2000] + Array(repeating: 50, count: 200)
        #expect(await rested(requests, after: .seconds(10)) == .seconds(15))
    }

    @Test func `the rest ends when the service stops`() async {
        let requests = Array(repeating: 50, count: 200)
        #expect(await rested(requests, endsAfter: 3) == .milliseconds(300))
    }

    @Test func `a person who watches a job does not slow it down`() {
        #expect(!JobRest.isBusy(3, in: .milliseconds(10)))
        #expect(JobRest.isBusy(40, in: .seconds(1)) && !JobRest.isBusy(39, in: .seconds(1)))
    }
}
