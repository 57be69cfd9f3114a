import Synchronization
import Testing

/// Stops what a test made when the test ends, whether it passed or threw, newest first.
package struct CleanUp: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true

    @TaskLocal private static var pending: Pending?

    private final class Pending: Sendable {
        let steps = Mutex<[@Sendable () async -> Void]>([])
    }

    /// Runs `step` at the end of the running test.
    package static func atEnd(_ step: @escaping @Sendable () async -> Void) {
        guard let pending else { preconditionFailure("this suite needs @Suite(.cleansUp)") }
        pending.steps.withLock { $0.append(step) }
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let pending = Pending()
        let result: Result<Void, any Error>
        do {
            result = .success(try await Self.$pending.withValue(pending, operation: function))
        } catch { result = .failure(error) }
        // In a task of its own, because a test that ran out of time is cancelled.
        await Task {
            for step in pending.steps.withLock({ $0 }).reversed() { await step() }
        }.value
        try result.get()
    }
}

extension Trait where Self == CleanUp {
    /// For suites that make databases, services, servers or providers.
    package static var cleansUp: Self { Self() }
}
