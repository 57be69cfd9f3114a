import Glibc
import Networking
import Synchronization

/// Runs async work on a loop and blocks the calling thread until it ends; not for a loop's thread.
func waitFor<Value: Sendable>(
    on loop: EventLoop, _ work: @escaping @Sendable () async throws -> Value
) throws -> Value {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw DataDirectory.Failure(description: "no pipe") }
    let (readEnd, writeEnd) = (ends[0], ends[1])
    defer {
        close(readEnd)
        close(writeEnd)
    }
    let box = Outcome<Value>()
    loop.spawn {
        do { box.set(.success(try await work())) } catch { box.set(.failure(error)) }
        var done: UInt8 = 1
        _ = write(writeEnd, &done, 1)
    }
    var done: UInt8 = 0
    while read(readEnd, &done, 1) < 0, errno == EINTR {}
    guard let result = box.value else { throw DataDirectory.Failure(description: "no outcome") }
    return try result.get()
}

private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func set(_ value: Result<Value, any Error>) { result.withLock { $0 = value } }
    var value: Result<Value, any Error>? { result.withLock { $0 } }
}
