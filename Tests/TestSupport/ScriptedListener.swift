import Glibc
import Synchronization

/// A TCP listener on 127.0.0.1 that plays a part, each connection on a thread of its own: for
/// servers that answer what no decent server would.
package final class ScriptedListener: Sendable {
    package let port: Int
    /// `nil` once it has stopped, because the number could then be another socket's.
    private let descriptor: Mutex<Int32?>

    package init(_ play: @escaping @Sendable (ScriptedConnection) -> Void) {
        let (descriptor, port) = LoopbackSocket.listening()
        self.descriptor = Mutex(descriptor)
        self.port = port
        OwnThread.start {
            defer { close(descriptor) }
            while true {
                let peer = accept(descriptor, nil, nil)
                guard peer >= 0 else { return }
                OwnThread.start { play(ScriptedConnection(peer)) }
            }
        }
        CleanUp.atEnd { [self] in stop() }
    }

    /// Stops listening; connections end when their part is played. The thread closes the socket.
    package func stop() {
        descriptor.withLock { descriptor in
            if let number = descriptor { shutdown(number, Int32(SHUT_RDWR)) }
            descriptor = nil
        }
    }
}

/// The listener's end of one connection; a read that waits over ten seconds gives up.
package final class ScriptedConnection: Sendable {
    private let descriptor: Int32
    private let pending = Mutex<[UInt8]>([])

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// False once the peer is gone.
    @discardableResult
    package func send(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    /// What came up to and including `end`; `nil` if the peer ends first.
    package func read(until end: String) -> String? {
        let end = Array(end.utf8)
        return pending.withLock { pending in
            while true {
                if let range = Self.find(end, in: pending) {
                    defer { pending.removeSubrange(..<range.upperBound) }
                    return String(decoding: pending[..<range.upperBound], as: UTF8.self)
                }
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return nil }
                pending += buffer[..<count]
            }
        }
    }

    /// Returns when the peer has closed; discards everything that it sends.
    package func waitForEnd() { while read(until: "\n") != nil {} }

    private static func find(_ part: [UInt8], in bytes: [UInt8]) -> Range<Int>? {
        guard bytes.count >= part.count else { return nil }
        for start in 0...(bytes.count - part.count)
        where bytes[start..<(start + part.count)].elementsEqual(part) {
            return start..<(start + part.count)
        }
        return nil
    }
}
