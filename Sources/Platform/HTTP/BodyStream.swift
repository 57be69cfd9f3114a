import Synchronization

/// A body that its handler receives in pieces. The connection reads the next piece when the handler
/// asks for it, so that a fast sender waits and memory stays flat.
package struct BodyStream: Sendable {
    /// `nil` after the last piece. Throws `HTTPError` if the body is refused, `BodyLost` if the
    /// client is gone. One call at a time.
    package let next: @Sendable () async throws -> [UInt8]?

    package init(next: @escaping @Sendable () async throws -> [UInt8]?) { self.next = next }

    /// A body that is complete.
    package init(_ bytes: [UInt8]) {
        let piece = Once(bytes)
        next = { piece.take() }
    }
}

/// The connection ended, or the time limit passed and the server answered instead of the handler.
package struct BodyLost: Error, Sendable {
    package init() {}
}

/// A value that only its first taker gets; callable from any thread.
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
