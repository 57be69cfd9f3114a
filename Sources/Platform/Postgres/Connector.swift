import CPostgres
import Glibc
import Runtime

/// Opens each connection on a thread of its own, because libpq's name resolution blocks and must
/// not block a loop. Only libpq's handshake can be performed without blocking.
struct Connector: Sendable {
    let configuration: PostgresConfiguration

    /// Opens a connection and calls `done` on the loop with it, or with the cause of the failure.
    func connect(
        on loop: EventLoop,
        _ done: @escaping @Sendable (Result<Established, ConnectFailure>) -> Void
    ) {
        let attempt = Attempt(connector: self, loop: loop, done: done)
        let context = Unmanaged.passRetained(attempt).toOpaque()
        var thread = pthread_t()
        // Allocate the memory instead of calling the type's initialiser. That initialiser belongs
        // to no fixed C module, but to the one that the compiler happens to load first.
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        defer { attributes.deallocate() }
        pthread_attr_init(attributes)
        pthread_attr_setstacksize(attributes, 512 << 10)
        pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
        let code = pthread_create(
            &thread, attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<Attempt>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        pthread_attr_destroy(attributes)
        if code != 0 {
            Unmanaged<Attempt>.fromOpaque(context).release()
            loop.perform { done(.failure(ConnectFailure(cause: "no thread"))) }
        }
    }
}

struct ConnectFailure: Error, Sendable {
    let cause: String
}

/// A newly opened connection.
///
/// `@unchecked Sendable`: one thread opens the connection and passes it to another thread. The
/// first thread does not use it afterwards.
final class Established: @unchecked Sendable {
    private var handle: OpaquePointer?
    /// Whether the database spreads tenants over several servers.
    let isDistributed: Bool

    init(_ handle: OpaquePointer, isDistributed: Bool) {
        self.handle = handle
        self.isDistributed = isDistributed
    }

    func take() -> OpaquePointer? {
        defer { handle = nil }
        return handle
    }

    deinit {
        if let handle { PQfinish(handle) }
    }
}

private final class Attempt: Sendable {
    let connector: Connector
    let loop: EventLoop
    let done: @Sendable (Result<Established, ConnectFailure>) -> Void

    init(
        connector: Connector, loop: EventLoop,
        done: @escaping @Sendable (Result<Established, ConnectFailure>) -> Void
    ) {
        self.connector = connector
        self.loop = loop
        self.done = done
    }

    func run() {
        let done = done
        let result: Result<Established, ConnectFailure>
        let configuration = connector.configuration
        let defaults = Conninfo.defaults(of: configuration)
        switch Conninfo.connect(configuration.conninfo, defaults: defaults) {
        case .success(let handle):
            if let known = configuration.isDistributed ?? Self.isDistributed(handle) {
                result = .success(Established(handle, isDistributed: known))
            } else {
                let cause = String(cString: PQerrorMessage(handle))
                PQfinish(handle)
                result = .failure(ConnectFailure(cause: cause))
            }
        case .failure(let failure): result = .failure(failure)
        }
        loop.perform { done(result) }
    }

    /// Whether the database has Citus; `nil` if that could not be found out. A connection must not
    /// treat a distributed database as a plain one: the tenant would not be passed on to the other
    /// servers.
    private static func isDistributed(_ handle: OpaquePointer) -> Bool? {
        let answer = PQexec(
            handle, "SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'")
        defer { PQclear(answer) }
        guard PQresultStatus(answer) == PGRES_TUPLES_OK else { return nil }
        return PQntuples(answer) > 0
    }
}

extension Conninfo {
    /// Returns the connection settings that the conninfo of a configuration may override.
    static func defaults(of configuration: PostgresConfiguration) -> [(String, String)] {
        [
            ("application_name", configuration.applicationName),
            ("client_encoding", "UTF8"),
            ("connect_timeout", "2"),
            ("tcp_user_timeout", "5000"),
            ("keepalives_idle", "10"),
            ("keepalives_interval", "5"),
            ("keepalives_count", "3"),
            ("target_session_attrs", configuration.takesWrites ? "read-write" : "any"),
            (
                "options",
                "-c statement_timeout=\(configuration.statementTimeout)"
                    + " -c lock_timeout=\(configuration.lockTimeout)"
                    + " -c idle_in_transaction_session_timeout="
                    + "\(configuration.idleInTransactionTimeout) -c TimeZone=UTC"
                    // With Citus, this makes the coordinator pass SET LOCAL app.tenant on to the
                    // tenant's server. Without Citus, the setting has no effect.
                    + " -c citus.propagate_set_commands=local"
                    + " -c plan_cache_mode=\(configuration.planCacheMode)"
            ),
        ]
    }
}

/// Opens blocking connections, and edits connection strings. Never call it on a loop.
package enum Conninfo {
    /// Returns why a connection fails, as libpq reports it but without passwords; `nil` if it
    /// succeeds.
    package static func fault(_ conninfo: String) -> String? {
        let defaults = [("application_name", "gatehouse"), ("connect_timeout", "5")]
        switch connect(conninfo, defaults: defaults) {
        case .success(let handle):
            PQfinish(handle)
            return nil
        case .failure(let failure):
            let lines = failure.cause.split(whereSeparator: \.isNewline)
            return lines.map { $0.drop { $0 == " " || $0 == "\t" } }.joined(separator: "; ")
        }
    }

    /// Returns the conninfo with one more keyword, which overrides an earlier one of the same name.
    /// The keyword `options` in a URL is an exception: the new options are added in front of the
    /// old ones. `value` must contain no quote and no backslash.
    package static func adding(_ conninfo: String, _ keyword: String, _ value: String) -> String {
        guard conninfo.utf8.starts(with: "postgres".utf8) else {
            return conninfo + " \(keyword)='\(value)'"
        }
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case " ": escaped += "%20"
            case "=": escaped += "%3D"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        for mark in ["?options=", "&options="] where keyword == "options" {
            let parts = conninfo.split(
                separator: mark, maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { return "\(parts[0])\(mark)\(escaped)%20\(parts[1])" }
        }
        return conninfo + (conninfo.contains("?") ? "&" : "?") + "\(keyword)=\(escaped)"
    }

    /// Returns the connection settings as libpq's environment variables, for a program that is to
    /// connect in the same way. They are not passed as arguments: every user of the machine can
    /// read a program's arguments, but only the program's own user can read its environment.
    package static func environment(
        _ conninfo: String
    ) throws(PostgresError) -> [String: String] {
        guard let parsed = PQconninfoParse(conninfo, nil) else {
            throw PostgresError(.unavailable, "the connection string cannot be read")
        }
        defer { PQconninfoFree(parsed) }
        var environment: [String: String] = [:]
        var option = parsed
        while option.pointee.keyword != nil {
            if let name = option.pointee.envvar, let value = option.pointee.val {
                environment[String(cString: name)] = String(cString: value)
            }
            option += 1
        }
        return environment
    }

    /// Opens a connection. The conninfo's own settings override the defaults, except that `options`
    /// are joined.
    static func connect(
        _ conninfo: String, defaults: [(String, String)]
    ) -> Result<OpaquePointer, ConnectFailure> {
        var message: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(conninfo, &message) else {
            // Leave out the message, because it could quote the password.
            PQfreemem(message)
            return .failure(ConnectFailure(cause: "the connection string cannot be read"))
        }
        var parameters = defaults
        var option = parsed
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                let name = String(cString: keyword)
                var text = String(cString: value)
                if let index = parameters.firstIndex(where: { $0.0 == name }) {
                    if name == "options" { text = parameters[index].1 + " " + text }
                    parameters[index].1 = text
                } else {
                    parameters.append((name, text))
                }
            }
            option += 1
        }
        PQconninfoFree(parsed)
        let keywords = parameters.map { strdup($0.0) }
        let values = parameters.map { strdup($0.1) }
        defer { for pointer in keywords + values { free(pointer) } }
        let handle = PQconnectdbParams(
            keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
        guard let handle else { return .failure(ConnectFailure(cause: "out of memory")) }
        guard PQstatus(handle) == CONNECTION_OK else {
            let cause = String(cString: PQerrorMessage(handle))
            PQfinish(handle)
            return .failure(ConnectFailure(cause: cause))
        }
        return .success(handle)
    }
}

/// The pauses between attempts to connect: 50 ms at first, then doubled each time, up to one
/// second.
struct Backoff {
    private var milliseconds: Int64 = 50

    /// Returns the nanoseconds to wait after one more failure.
    mutating func next() -> Int64 {
        defer { milliseconds = min(1000, milliseconds * 2) }
        return milliseconds * 1_000_000
    }

    mutating func reset() { milliseconds = 50 }
}
