import Glibc

/// A client's connection that is kept open: one request after the other, answers read whole.
struct Wire: ~Copyable {
    struct Closed: Error {}

    private let descriptor: Int32
    private var received: [UInt8] = []

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let descriptor = descriptor
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Closed() }
    }

    deinit { close(descriptor) }

    /// The bytes of a request with a body of JSON.
    static func request(
        _ method: String, _ target: String, body: String = "", fields: [String] = []
    ) -> String {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1"] + fields
        if !body.isEmpty {
            lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
        }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    /// Sends and reads one answer: its head and its body.
    mutating func exchange(_ text: String) throws -> RunningService.Answer {
        guard Glibc.send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) > 0
        else { throw Closed() }
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let split = Self.find(end, in: received) {
                let head = String(decoding: received[..<split], as: UTF8.self)
                let answer = RunningService.Answer(head: head, body: "")
                let length = answer.first("content-length").flatMap { Int($0) } ?? 0
                let total = split + 4 + length
                if received.count >= total {
                    let body = String(decoding: received[(split + 4)..<total], as: UTF8.self)
                    received.removeFirst(total)
                    return RunningService.Answer(head: head, body: body)
                }
            }
            var chunk = [UInt8](repeating: 0, count: 16_384)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { throw Closed() }
            received.append(contentsOf: chunk[..<count])
        }
    }

    private static func find(_ needle: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= needle.count else { return nil }
        for index in 0...(bytes.count - needle.count)
        where bytes[index] == needle[0] && bytes[index...].starts(with: needle) {
            return index
        }
        return nil
    }
}

extension Wire {
    /// All up to the end of the connection.
    mutating func rest() -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return received }
            received.append(contentsOf: chunk[..<count])
        }
    }
}

/// A chunked body (RFC 9112 §7.1).
struct Chunks {
    struct Cut: Error {}

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Throws where the last chunk is missing.
    func whole() throws -> [UInt8] {
        var rest = bytes[...]
        var all: [UInt8] = []
        while let end = rest.firstIndex(of: 0x0D) {
            let digits = String(decoding: rest[..<end], as: UTF8.self)
            guard let size = Int(digits, radix: 16) else { throw Cut() }
            rest = rest[end...].dropFirst(2)
            if size == 0 { return all }
            guard rest.count >= size + 2 else { throw Cut() }
            all += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
        }
        throw Cut()
    }
}
