import Cryptography
import Gatehouse
import Glibc
import Runtime
import TestSupport

/// The whole service behind a real socket, over a real PostgreSQL.
final class RunningService: Sendable {
    let database: TestDatabase
    let service: Service

    init(_ change: (inout ServiceConfiguration) -> Void = { _ in }) async throws {
        database = try await TestDatabase.make()
        service = try await Self.start(database, change)
    }

    /// Over a database that was made before.
    init(
        over database: TestDatabase, _ change: (inout ServiceConfiguration) -> Void
    ) async throws {
        self.database = database
        service = try await Self.start(database, change)
    }

    /// Another server over the same database.
    init(
        replacing other: RunningService, _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws {
        database = other.database
        service = try await Self.start(database, change)
    }

    private static func start(
        _ database: TestDatabase, _ change: (inout ServiceConfiguration) -> Void
    ) async throws -> Service {
        var configuration = ServiceConfiguration(
            appConninfo: database.app, platformConninfo: database.platform,
            secrets: SecretKeys([UInt8](repeating: 9, count: 32)), listen: "127.0.0.1:0",
            threads: 2,
            consoleDirectory: TestCluster.root + "/Public",
            logger: Logger(level: .error, format: .text))
        change(&configuration)
        let service = try await Service.start(configuration)
        CleanUp.atEnd { await service.stop() }
        return service
    }

    struct Answer {
        var head: String
        var body: String

        var status: Int { Int(head.dropFirst(9).prefix(3)) ?? 0 }

        /// The lines of the head that two equal answers share.
        var lines: [String] {
            head.split(whereSeparator: \.isNewline).map(String.init).filter {
                !$0.lowercased().hasPrefix("date:")
            }.sorted()
        }

        func first(_ name: String) -> String? {
            for line in head.split(whereSeparator: \.isNewline).dropFirst() {
                let pair = line.split(separator: ":", maxSplits: 1)
                if pair.count == 2, pair[0].lowercased() == name {
                    return String(pair[1].drop { $0 == " " })
                }
            }
            return nil
        }
    }

    /// Sends bytes on a connection of its own and reads until the server closes it.
    func exchange(_ text: String, port: Int? = nil) throws -> Answer {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port ?? service.port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Unreachable() }
        _ = Glibc.send(descriptor, text, text.utf8.count, 0)
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { break }
            received.append(contentsOf: chunk[..<count])
        }
        let end = Array("\r\n\r\n".utf8)
        var split = received.count
        for index in received.indices where received[index...].starts(with: end) {
            split = index
            break
        }
        return Answer(
            head: String(decoding: received[..<split], as: UTF8.self),
            body: String(decoding: received.dropFirst(split + 4), as: UTF8.self))
    }

    struct Unreachable: Error {}

    /// One request that closes its connection.
    func send(
        _ method: String, _ target: String, body: String? = nil, fields: [String] = [],
        port: Int? = nil
    ) throws -> Answer {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:\(service.port)"]
        lines += fields + ["Connection: close"]
        if let body {
            lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
        }
        return try exchange(
            lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""), port: port)
    }
}
