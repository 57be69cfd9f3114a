import Glibc

/// A blocking client socket that speaks bytes; a read that waits over ten seconds gives up.
final class Client: Sendable {
    let descriptor: Int32

    /// `from`: an address of this machine, `127.0.0.2` for another network than others.
    init(port: Int, receiveBuffer: Int32? = nil, from: String? = nil) {
        let (descriptor, isConnected) = Self.connecting(port, receiveBuffer, from)
        precondition(isConnected, "no connection")
        self.descriptor = descriptor
    }

    /// Nil where none is to be had, by refusal or for want of an answer.
    init?(connecting port: Int) {
        let (descriptor, isConnected) = Self.connecting(port, nil)
        self.descriptor = descriptor
        if !isConnected { return nil }
    }

    private static func connecting(
        _ port: Int, _ receiveBuffer: Int32?, _ from: String? = nil
    ) -> (descriptor: Int32, isConnected: Bool) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        if let from {
            inet_pton(AF_INET, from, &address.sin_addr)
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return (descriptor, code == 0)
    }

    deinit { close(descriptor) }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ all: [UInt8]) {
        var bytes = all[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Up to `limit` bytes; nil at the end of the connection.
    func read(_ limit: Int = 65_536) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    /// All up to the end of the connection.
    func readAll() -> String {
        var all: [UInt8] = []
        while let piece = read() { all += piece }
        return String(decoding: all, as: UTF8.self)
    }

    /// Reads until `text` has come, and returns what came.
    func read(until text: String) -> String {
        var all: [UInt8] = []
        let wanted = Array(text.utf8)
        while !all.ends(with: wanted), let piece = read(1) { all += piece }
        return String(decoding: all, as: UTF8.self)
    }
}

extension [UInt8] {
    func ends(with other: [UInt8]) -> Bool {
        count >= other.count && self[(count - other.count)...].elementsEqual(other)
    }
}

/// A request without a body; `more`: field lines.
func get(_ path: String, _ more: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\(more)\r\n"
}

func occurrences(_ part: String, in text: String) -> Int {
    text.split(separator: part, omittingEmptySubsequences: false).count - 1
}
