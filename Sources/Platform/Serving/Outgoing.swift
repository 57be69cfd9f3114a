import Networking

/// Bytes that a connection has written and its socket has not yet accepted.
struct Outgoing {
    private var bytes: [UInt8] = []
    private var start = 0
    private var waiter: UnsafeContinuation<Void, Never>?
    /// Monotonic nanoseconds; extended as the peer accepts bytes.
    var deadline: Int64 = 0
    /// Whether the loop watches for writability.
    var waits = false
    /// Whether our side of the connection is closed.
    var ended = false

    var isEmpty: Bool { bytes.isEmpty }

    mutating func hold(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    /// Sends what the socket accepts; false if the connection is lost.
    mutating func send(to socket: Socket, rate: Int64) -> Bool {
        while start < bytes.count {
            let result = bytes.withUnsafeBytes {
                socket.send(UnsafeRawBufferPointer(rebasing: $0[start...]))
            }
            switch result {
            case .moved(let count):
                start += count
                deadline += Int64(count) * 1_000_000_000 / max(1, rate)
            case .wantsWrite, .wantsRead: return true
            case .ended, .failed: return false
            }
        }
        drop()
        return true
    }

    mutating func drop() {
        bytes = []
        start = 0
    }

    mutating func resume() {
        let waiting = waiter
        waiter = nil
        waiting?.resume()
    }

    /// Returns when the socket has accepted everything, or the connection is closed.
    static func drained(_ connection: LoopBound<HTTPConnection>) async {
        guard !connection.value.outgoing.isEmpty else { return }
        await withUnsafeContinuation { connection.value.outgoing.waiter = $0 }
    }
}
