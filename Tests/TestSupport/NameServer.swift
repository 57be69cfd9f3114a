import Glibc
import Synchronization
import Text

/// A DNS server on 127.0.0.1 over UDP that knows only TXT records.
package final class NameServer: Sendable {
    package enum Reply: Sendable {
        case records([String])
        /// A whole answer section as it is, with its count.
        case raw(count: UInt8, [UInt8])
        case failure(UInt8)
        case silence
    }

    package let port: UInt16
    private let descriptor: Int32
    private let replies: Mutex<[String: Reply]>

    package init(_ replies: [String: Reply] = [:]) {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(bind(descriptor, $0, length) == 0, "no port")
                getsockname(descriptor, $0, &length)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        self.replies = Mutex(replies)
        OwnThread.start { [self] in serve() }
        // The thread closes the descriptor: if it were closed here, another socket could get its
        // number.
        CleanUp.atEnd { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    package func set(_ name: String, _ reply: Reply) { replies.withLock { $0[name] = reply } }

    private func serve() {
        defer { close(descriptor) }
        while true {
            var query = [UInt8](repeating: 0, count: 1500)
            var peer = sockaddr()
            var length = socklen_t(MemoryLayout<sockaddr>.size)
            let count = recvfrom(descriptor, &query, query.count, 0, &peer, &length)
            guard count > 12 else { return }
            guard let answer = answer(to: Array(query[..<count])) else { continue }
            sendto(descriptor, answer, answer.count, 0, &peer, length)
        }
    }

    private func answer(to query: [UInt8]) -> [UInt8]? {
        var (at, labels) = (12, [String]())
        while at < query.count, query[at] != 0 {
            let end = at + 1 + Int(query[at])
            labels.append(String(decoding: query[(at + 1)..<end], as: UTF8.self))
            at = end
        }
        let question = query[12..<(at + 5)]
        let name = labels.joined(separator: ".").lowercased()
        var (code, count, section): (UInt8, UInt8, [UInt8]) = (3, 0, [])
        switch replies.withLock({ $0[name] }) {
        case nil: break
        case .silence: return nil
        case .failure(let failure): code = failure
        case .raw(let number, let bytes): (code, count, section) = (0, number, bytes)
        case .records(let texts):
            (code, count) = (0, UInt8(texts.count))
            for text in texts { section += Self.record(text) }
        }
        return query[..<2] + [0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0] + question + section
    }

    /// A record in strings of at most 255 bytes, as RFC 1035 has them.
    package static func record(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var data: [UInt8] = []
        for start in stride(from: 0, to: max(1, bytes.count), by: 255) {
            let piece = bytes[start..<min(start + 255, bytes.count)]
            data += [UInt8(piece.count)] + piece
        }
        return [
            0xC0, 12, 0, 16, 0, 1, 0, 0, 0, 60, UInt8(data.count >> 8), UInt8(data.count & 255),
        ]
            + data
    }
}
