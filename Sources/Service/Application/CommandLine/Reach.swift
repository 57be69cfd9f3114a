import Glibc

/// Tests whether a host and port accept connections from here.
enum Reach {
    private static let seconds = 5

    static func resolves(_ host: String) -> Bool { withAddresses(host, 0) { $0 != nil } ?? false }

    /// True if one of the host's addresses accepts a connection within five seconds.
    static func connects(_ host: String, _ port: UInt16) -> Bool {
        withAddresses(host, port) { first in
            var entry = first
            while let address = entry {
                if connects(address.pointee) { return true }
                entry = address.pointee.ai_next
            }
            return false
        } ?? false
    }

    private static func connects(_ address: addrinfo) -> Bool {
        let descriptor = socket(address.ai_family, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        // Linux limits connect(2) by the send timeout.
        setsockopt(
            descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return connect(descriptor, address.ai_addr, address.ai_addrlen) == 0
    }

    private static func withAddresses<Result>(
        _ host: String, _ port: UInt16, _ body: (UnsafeMutablePointer<addrinfo>?) -> Result
    ) -> Result? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, port == 0 ? nil : String(port), &hints, &found) == 0 else {
            return nil
        }
        defer { freeaddrinfo(found) }
        return body(found)
    }
}
