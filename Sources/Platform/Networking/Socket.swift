import CLinux
import Glibc

/// One accepted stream socket, with TLS or without. Confined to its loop; closed by `close`.
package struct Socket {
    package let descriptor: Int32
    package let tls: TLSSession?

    package init(descriptor: Int32, tls: TLSSession?) {
        self.descriptor = descriptor
        self.tls = tls
    }

    /// The peer's numeric address without a port.
    package var peer: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress, gh_peer(descriptor, start, 64) == 0 else {
                return "unknown"
            }
            return String(cString: start)
        }
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> SocketResult {
        if let tls { return tls.read(into: buffer) }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .wantsRead : .failed
        }
    }

    package func send(_ bytes: UnsafeRawBufferPointer) -> SocketResult {
        if let tls { return tls.write(bytes) }
        while true {
            let count = gh_send(descriptor, bytes.baseAddress, UInt(bytes.count))
            if count >= 0 { return .moved(count) }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .wantsWrite : .failed
        }
    }

    /// Closes our sending side (with TLS after its alert), so that the peer can read what is in
    /// flight.
    package func shutdownWrite() {
        tls?.shutdown()
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes `close` reset the connection (RST).
    package func reset() {
        var wait = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &wait, socklen_t(MemoryLayout<linger>.size))
    }

    package func close() { _ = Glibc.close(descriptor) }
}
