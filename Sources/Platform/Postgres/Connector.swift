import CPostgres
import Glibc
import Networking

/// Opens connections, each on its own thread: libpq's handshake is non-blocking, but its name
/// resolution is not, and neither may block a loop.
struct Connector: Sendable {
    let configuration: PostgresConfiguration

    /// Calls back on the loop with the established connection, or the cause of the failure.
    func connect(
        on loop: EventLoop,
        _ done: @escaping @Sendable (Result<Established, ConnectFailure>) -> Void
    ) {
        let attempt = Attempt(connector: self, loop: loop, done: done)
        let context = Unmanaged.passRetained(attempt).toOpaque()
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 512 << 10)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let code = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<Attempt>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        pthread_attr_destroy(&attributes)
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
/// `@unchecked Sendable`: handed from the thread that opened it to the thread that takes it.
final class Established: @unchecked Sendable {
    private var handle: OpaquePointer?
    /// The database spreads tenants over several servers.
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

    /// Whether the database has Citus; nil if it did not say. Taken for a plain one, it would not hand
    /// the tenant on to its servers.
    private static func isDistributed(_ handle: OpaquePointer) -> Bool? {
        let answer = PQexec(
            handle, "SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'")
        defer { PQclear(answer) }
        guard PQresultStatus(answer) == PGRES_TUPLES_OK else { return nil }
        return PQntuples(answer) > 0
    }
}

extension Conninfo {
    /// What the conninfo of a configuration may override.
    static func defaults(of configuration: PostgresConfiguration) -> [(String, String)] {
        [
            ("application_name", configuration.applicationName),
            ("client_encoding", "UTF8"),
            ("connect_timeout", "2"),
            ("tcp_user_timeout", "5000"),
            ("keepalives_idle", "10"),
            ("keepalives_interval", "5"),
            ("keepalives_count", "3"),
            (
                "options",
                "-c statement_timeout=\(configuration.statementTimeout)"
                    + " -c lock_timeout=\(configuration.lockTimeout)"
                    + " -c idle_in_transaction_session_timeout="
                    + "\(configuration.idleInTransactionTimeout) -c TimeZone=UTC"
                    // Citus hands SET LOCAL app.tenant on to the tenant's server; elsewhere it is a
                    // setting that nothing reads.
                    + " -c citus.propagate_set_commands=local"
                    + " -c plan_cache_mode=\(configuration.planCacheMode)"
            ),
        ]
    }
}
