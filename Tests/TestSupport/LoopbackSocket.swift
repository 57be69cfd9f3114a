import Glibc

/// TCP sockets on 127.0.0.1 for tests, as the kernel gives them.
package enum LoopbackSocket {
    /// A descriptor that listens, and its port.
    static func listening() -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(bind(descriptor, $0, length) == 0, "no port")
                getsockname(descriptor, $0, &length)
            }
        }
        listen(descriptor, 64)
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}
