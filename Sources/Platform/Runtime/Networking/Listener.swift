import CLinux
import Glibc

/// Why the server cannot listen at an address.
package enum ListenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text is not `host:port`, `[v6]:port` or `*:port` with a numeric host.
    case badAddress(String)
    /// The system refused to listen; `code` is the errno.
    case refused(String, code: Int32)

    /// The error as a sentence for the operator.
    package var description: String {
        switch self {
        case .badAddress(let address):
            "\(address) is no address to listen at: it must be host:port with a numeric host"
        case .refused(let address, EADDRINUSE):
            "\(address) is in use by another program; GATEHOUSE_LISTEN=… takes another"
        case .refused(let address, let code):
            "cannot listen at \(address): \(String(cString: strerror(code)))"
        }
    }
}

/// A listening TCP socket. A process can have several at one address (SO_REUSEPORT), one for each
/// loop.
package struct Listener: Sendable {
    /// The non-blocking file descriptor. A loop must watch it.
    package let descriptor: Int32
    /// The port that was bound; the system chose it if 0 was requested.
    package let port: Int

    private static let backlog: Int32 = 4096

    /// Listens at a numeric host. Throws `ListenError.refused` with the errno.
    init(host: String, port: Int) throws(ListenError) {
        try self.init(host, port, backlog: Self.backlog, isShared: true)
    }

    /// Binds a socket. With a `backlog` of 0 it does not listen, so no client can connect.
    private init(_ host: String, _ port: Int, backlog: Int32, isShared: Bool) throws(ListenError) {
        let made = gh_listen(host, UInt16(truncatingIfNeeded: port), backlog, isShared ? 1 : 0)
        guard made >= 0 else { throw .refused("\(host):\(port)", code: errno) }
        descriptor = made
        self.port = Int(gh_local_port(made))
    }

    /// Splits `host:port`, where host is numeric, `localhost`, or `*` for every address.
    package static func parse(_ address: String) throws(ListenError) -> (host: String, port: Int) {
        let bytes = Array(address.utf8)
        guard let colon = bytes.lastIndex(of: 0x3A) else { throw .badAddress(address) }
        let digits = bytes[(colon + 1)...]
        guard (1...5).contains(digits.count), digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { throw .badAddress(address) }
        let port = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        var host = bytes[..<colon]
        if host.first == 0x5B, host.last == 0x5D {
            host = host.dropFirst().dropLast()
        } else if host.contains(0x3A) {
            throw .badAddress(address)
        }
        guard port <= 65_535, !host.isEmpty else { throw .badAddress(address) }
        switch String(decoding: host, as: UTF8.self) {
        case "localhost": return ("127.0.0.1", port)
        case "*": return ("::", port)
        case let name: return (name, port)
        }
    }

    /// Opens one listener for each loop at the same address; the first binds and the others share
    /// its port. Throws if another process listens there, because with a shared port each process
    /// would get some of the connections without notice.
    package static func group(_ address: String, count: Int) throws(ListenError) -> [Listener] {
        let (host, port) = try parse(address)
        try probe(address)
        var made = [try Listener(host: host, port: port)]
        for _ in 1..<max(1, count) {
            do throws(ListenError) {
                made.append(try Listener(host: host, port: made[0].port))
            } catch {
                for each in made { each.close() }
                throw error
            }
        }
        return made
    }

    /// Throws if it is impossible to listen at the address, for example because another process
    /// listens there.
    package static func probe(_ address: String) throws(ListenError) {
        let (host, port) = try parse(address)
        try Listener(host, port, backlog: 0, isShared: false).close()
    }

    /// Makes the kernel ignore new connections from now on. Clients then retry later, and no
    /// connection is lost in the queue when the listener closes.
    package func refuseNew() { _ = gh_refuse_new(descriptor) }

    /// Closes the listener. Connections that were not accepted are reset, so call `refuseNew`
    /// first.
    package func close() { _ = Glibc.close(descriptor) }
}

extension Listener {
    package enum Accepted {
        /// A new connection, non-blocking and close-on-exec.
        case descriptor(Int32)
        case none
        /// The process or the system has no more descriptors or memory, so the connection still
        /// waits. The listener remains readable.
        case exhausted
    }

    /// Accepts a connection if one waits; never blocks. The caller must close the descriptor.
    package func accept() -> Accepted {
        let made = gh_accept(descriptor)
        if made >= 0 { return .descriptor(made) }
        switch errno {
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
        default: return .none
        }
    }
}

/// One accepted stream socket, with or without TLS. Use it only on its loop, and close it with
/// `close`.
package struct Socket {
    package let descriptor: Int32
    package let tls: TLSSession?

    package init(descriptor: Int32, tls: TLSSession?) {
        self.descriptor = descriptor
        self.tls = tls
    }

    /// The peer's numeric address, without a port.
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

    /// Closes the sending side (with TLS, after a closing alert), so that the peer can still read
    /// what was sent.
    package func shutdownWrite() {
        tls?.shutdown()
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the following `close` reset the connection (RST).
    package func reset() {
        var wait = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &wait, socklen_t(MemoryLayout<linger>.size))
    }

    package func close() { _ = Glibc.close(descriptor) }
}

/// The result of one non-blocking read or write.
package enum SocketResult: Equatable, Sendable {
    case moved(Int)
    /// No bytes were read or written; try again when the descriptor is readable.
    case wantsRead
    /// No bytes were read or written; try again when the descriptor is writable.
    case wantsWrite
    /// The peer has closed its sending side.
    case ended
    case failed
}
