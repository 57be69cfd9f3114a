import Glibc
import Synchronization

/// Passes bytes between clients on 127.0.0.1 and a PostgreSQL on a unix socket. It can also swallow
/// them all, as a network does that loses every packet, pass them late, or drop notifications.
package final class SilentProxy: Sendable {
    /// Which notifications arrive.
    package enum Notifications: Sendable {
        case all, none
        /// As through a pooler that lends out its connections for each transaction.
        case duringStatements
    }

    package let port: Int
    private let listener: Int32
    private let target: String
    private let notifications = Mutex(Notifications.all)
    private let isSilent = Atomic<Bool>(false)
    private let latency = Atomic<UInt32>(0)
    private let pairs = Mutex<[(Int32, Int32)]>([])
    private let traffic = Mutex<[Int32: Traffic]>([:])

    /// What one connection has carried since it was opened.
    package struct Traffic: Sendable {
        /// How many statements the client had executed.
        package var statements = 0
        /// How often the client sent something after an answer.
        package var roundTrips = 0
        fileprivate var isAnswered = true
        /// Whether something was sent since the server was last ready for it.
        fileprivate var isOpen = false
        fileprivate var messages = FrontendMessages()
    }

    /// The traffic by connection.
    package var carried: [Int32: Traffic] { traffic.withLock { $0 } }

    /// `conninfo` has libpq's words, with `host`, the socket's folder, and perhaps `port`.
    package init(to conninfo: String, notifications: Notifications = .all) {
        self.notifications.withLock { $0 = notifications }
        let words = conninfo.split(separator: " ").map { $0.split(separator: "=").map(String.init) }
        func word(_ name: String) -> String? { words.last { $0.first == name }?.last }
        target = "\(word("host") ?? "/tmp")/.s.PGSQL.\(word("port") ?? "5432")"
        (listener, port) = LoopbackSocket.listening()
        OwnThread.start { [self] in run() }
        CleanUp.atEnd { [self] in
            shutdown(listener, Int32(SHUT_RDWR))
            pass()
        }
    }

    /// The same conninfo, by way of this proxy.
    package func passing(_ conninfo: String) -> String {
        "\(conninfo) host=127.0.0.1 port=\(port) sslmode=disable gssencmode=disable"
    }

    /// From now on nothing passes in either direction; what arrives is lost.
    package func swallow() { isSilent.store(true, ordering: .sequentiallyConsistent) }

    /// From now on these notifications arrive, on open connections too.
    package func deliver(_ notifications: Notifications) {
        self.notifications.withLock { $0 = notifications }
    }

    /// From now on what the server sends arrives this much later, as over a long or crowded route.
    package func delay(milliseconds: UInt32) {
        latency.store(milliseconds, ordering: .sequentiallyConsistent)
    }

    /// Bytes pass again, on new connections; the old ones are closed, because some bytes are
    /// missing there.
    package func pass() {
        isSilent.store(false, ordering: .sequentiallyConsistent)
        latency.store(0, ordering: .sequentiallyConsistent)
        let old = pairs.withLock { pairs in
            defer { pairs = [] }
            return pairs
        }
        for (client, server) in old {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }
    }

    private func run() {
        defer { close(listener) }
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            let server = connected()
            guard server >= 0 else {
                close(client)
                continue
            }
            pairs.withLock { $0.append((client, server)) }
            for (from, to) in [(client, server), (server, client)] {
                OwnThread.start { [self] in pump(from, to, isAnswer: from == server) }
            }
        }
    }

    /// The descriptors stay open until the process ends: a test opens only a few, and a number that
    /// is used again would be another connection's.
    private func pump(_ from: Int32, _ to: Int32, isAnswer: Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var answers = BackendMessages()
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            if !isAnswer {
                traffic.withLock { $0[from, default: Traffic()].carry(buffer[..<count]) }
            }
            if isSilent.load(ordering: .sequentiallyConsistent) { continue }
            let wait = latency.load(ordering: .sequentiallyConsistent)
            if isAnswer {
                if wait > 0 { usleep(wait * 1000) }
                traffic.withLock { $0[to, default: Traffic()].isAnswered = true }
            }
            var passed = Array(buffer[..<count])
            if isAnswer {
                passed = answers.take(passed).filter { arrives($0, at: to) }.flatMap { $0 }
            }
            guard
                Glibc.send(to, passed, passed.count, Int32(MSG_NOSIGNAL)) == passed.count
            else { break }
        }
        if !isSilent.load(ordering: .sequentiallyConsistent) { shutdown(to, Int32(SHUT_RDWR)) }
    }

    private func arrives(_ message: [UInt8], at client: Int32) -> Bool {
        traffic.withLock { traffic in
            if message.first == UInt8(ascii: "Z") { traffic[client]?.isOpen = false }
            guard message.first == UInt8(ascii: "A") else { return true }
            return switch notifications.withLock({ $0 }) {
            case .all: true
            case .none: false
            case .duringStatements: traffic[client]?.isOpen == true
            }
        }
    }

    private func connected() -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            for (index, byte) in target.utf8.prefix(path.count - 1).enumerated() {
                path[index] = byte
            }
        }
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }
}

extension SilentProxy.Traffic {
    fileprivate mutating func carry(_ bytes: ArraySlice<UInt8>) {
        if isAnswered { roundTrips += 1 }
        isAnswered = false
        isOpen = true
        statements += messages.executed(bytes)
    }
}

/// Finds the Execute messages in what a client of PostgreSQL sends: first a message without a type,
/// then messages with a byte for the type and a length that includes itself ("Message Formats" of
/// PostgreSQL's manual).
private struct FrontendMessages: Sendable {
    private var head: [UInt8] = []
    private var headLength = 4
    private var rest = 0

    mutating func executed(_ bytes: ArraySlice<UInt8>) -> Int {
        var count = 0
        for byte in bytes {
            if rest > 0 {
                rest -= 1
                continue
            }
            head.append(byte)
            guard head.count == headLength else { continue }
            rest = head.suffix(4).reduce(0) { $0 << 8 | Int($1) } - 4
            if headLength == 5, head[0] == UInt8(ascii: "E") { count += 1 }
            (head, headLength) = ([], 5)
        }
        return count
    }
}

/// Finds the messages in what PostgreSQL sends: each has a byte for its type and a length that
/// includes itself.
private struct BackendMessages {
    private var rest: [UInt8] = []

    /// Takes the bytes, and returns the messages that are complete.
    mutating func take(_ bytes: [UInt8]) -> [[UInt8]] {
        rest += bytes
        var messages: [[UInt8]] = []
        while rest.count >= 5 {
            let length = 1 + rest[1...4].reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= length else { break }
            messages.append(Array(rest[..<length]))
            rest.removeFirst(length)
        }
        return messages
    }
}
