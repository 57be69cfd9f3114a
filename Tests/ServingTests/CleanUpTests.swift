import Synchronization
import TestSupport
import Testing

struct CleanUpTests {
    @Test func `a test that throws is cleaned up, the newest thing first`() async throws {
        let test = try #require(Test.current)
        let ended = Mutex<[Int]>([])
        await #expect(throws: CancellationError.self) {
            try await CleanUp.cleansUp.provideScope(for: test, testCase: Test.Case.current) {
                for number in 0..<3 { CleanUp.atEnd { ended.withLock { $0.append(number) } } }
                throw CancellationError()
            }
        }
        #expect(ended.withLock { $0 } == [2, 1, 0])
    }
}
