import Glibc

/// A thread for a test's work that blocks. Swift's tasks have only as many threads as there are
/// cores: blocking those keeps the server in the same process from answering.
package enum OwnThread {
    /// Runs `work` on a thread that ends with it, and returns its result.
    package static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result { try work() }) }
        }
    }

    /// Starts `work` and does not wait for it.
    package static func start(_ work: @escaping @Sendable () -> Void) {
        final class Box: Sendable {
            let work: @Sendable () -> Void
            init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        }
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Box(work))
        pthread_create(
            &thread, nil,
            { raw in
                if let raw { Unmanaged<Box>.fromOpaque(raw).takeRetainedValue().work() }
                return nil
            }, box.toOpaque())
        pthread_detach(thread)
    }
}
