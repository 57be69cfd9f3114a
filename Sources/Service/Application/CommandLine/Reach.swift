import Glibc

/// Tests whether a host and port accept connections from here.
enum Reach {
    private static let seconds = 5

    static func resolves(_ host: String) -> Bool { withAddresses(host, 0) { $0 != nil } ?? false }

    /// True if one of the host's addresses accepts a connection within five seconds.
    static func connects(_ host: String, _ port: UInt16) -> Bool {
        connection(host, port).map { close($0) } != nil
    }

    /// The socket of a connection to the first of the host's addresses that accepts one; who calls closes it. Neither
    /// connecting nor waiting for an answer takes more than five seconds.
    static func connection(_ host: String, _ port: UInt16) -> Int32? {
        withAddresses(host, port) { first in
            var entry = first
            while let address = entry {
                if let connected = connection(address.pointee) { return connected }
                entry = address.pointee.ai_next
            }
            return nil
        } ?? nil
    }

    private static func connection(_ address: addrinfo) -> Int32? {
        let descriptor = socket(address.ai_family, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        // Linux limits connect(2) by the send timeout.
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(
                descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
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
