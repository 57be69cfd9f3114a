import Glibc

/// The process that supervises `serve`, such as systemd; it reads the states of sd_notify(3).
struct Supervisor {
    enum State {
        case ready, reloading, stopping
    }

    /// The path of a datagram socket; `@` at its beginning stands for the abstract namespace.
    private let socketPath: String?

    /// With nil nothing is sent: `serve` runs without a supervisor.
    init(socketPath: String?) { self.socketPath = socketPath }

    /// The one that the environment names.
    static var current: Supervisor {
        Supervisor(socketPath: getenv("NOTIFY_SOCKET").map { String(cString: $0) })
    }

    /// A failure to send is ignored: the supervisor then acts by its own time-outs.
    func notify(_ state: State) {
        guard let socketPath, let found = Self.address(of: socketPath) else { return }
        var address = found.address
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Self.text(of: state)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL), $0, found.length)
            }
        }
    }

    private static func text(of state: State) -> String {
        switch state {
        case .ready: return "READY=1"
        case .stopping: return "STOPPING=1"
        case .reloading:
            // By the time systemd matches the READY=1 after it with this reload.
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            return "RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)"
        }
    }

    private static func address(of path: String) -> (address: sockaddr_un, length: socklen_t)? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard let first = bytes.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
            bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        else { return nil }
        if first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // An abstract name is all bytes of its length, so nothing may follow it.
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + bytes.count }
        return length.map { (address, socklen_t($0)) }
    }
}
