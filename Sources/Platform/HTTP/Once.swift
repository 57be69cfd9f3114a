import Synchronization

/// A value for its first taker; callable from any thread.
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
