/// The pauses between attempts to connect: 50 ms, doubled up to a second.
struct Backoff {
    private var milliseconds: Int64 = 50

    /// Nanoseconds to wait after one more failure.
    mutating func next() -> Int64 {
        defer { milliseconds = min(1000, milliseconds * 2) }
        return milliseconds * 1_000_000
    }

    mutating func reset() { milliseconds = 50 }
}
