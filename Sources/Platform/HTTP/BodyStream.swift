import Synchronization

/// A body that its handler receives in pieces. The connection reads the next piece only when the
/// handler asks for it, so a fast sender has to wait and memory use stays constant.
package struct BodyStream: Sendable {
    /// Returns the next piece; `nil` after the last one. Throws `HTTPError` if the body is refused,
    /// and `BodyLost` if the connection or the request has ended. Do not call it again before the
    /// previous call has returned.
    package let next: @Sendable () async throws -> [UInt8]?

    package init(next: @escaping @Sendable () async throws -> [UInt8]?) { self.next = next }

    /// Makes a stream of a body that has already arrived in full.
    package init(_ bytes: [UInt8]) {
        let piece = Once(bytes)
        next = { piece.take() }
    }
}

/// No more of the body can be read, because the connection ended, or the time limit passed and the
/// server responded instead of the handler.
package struct BodyLost: Error, Sendable {}

/// A value that only the first caller of `take` gets. `take` may be called from any thread.
final class Once: Sendable {
    private let value: Mutex<[UInt8]?>

    init(_ value: [UInt8]) { self.value = Mutex(value.isEmpty ? nil : value) }

    func take() -> [UInt8]? {
        value.withLock { value in
            defer { value = nil }
            return value
        }
    }
}
