import Networking

extension Postgres {
    /// Listens on a channel (a trusted word) by a connection of its own, which comes back by
    /// itself. All calls come on the first loop: `onReady` each time listening began, which is
    /// when what was missed must be read again; `onLost` when it ended; `onNotify` with the
    /// payload.
    package func listen(
        channel: String,
        onNotify: @escaping @Sendable (_ payload: String) -> Void,
        onLost: @escaping @Sendable () -> Void = {},
        onReady: @escaping @Sendable () -> Void = {}
    ) {
        let listener = Listener(
            channel: channel, configuration: configuration, pool: firstPool,
            onNotify: onNotify, onLost: onLost, onReady: onReady)
        firstPool.loop.perform { listener.open() }
    }
}

/// `@unchecked Sendable`: touched on its pool's loop only.
final class Listener: @unchecked Sendable {
    private let channel: String
    private let configuration: PostgresConfiguration
    private let pool: Pool
    private let onNotify: @Sendable (String) -> Void
    private let onLost: @Sendable () -> Void
    private let onReady: @Sendable () -> Void
    private var connection: Connection?
    private var backoff = Backoff()

    init(
        channel: String, configuration: PostgresConfiguration, pool: Pool,
        onNotify: @escaping @Sendable (String) -> Void, onLost: @escaping @Sendable () -> Void,
        onReady: @escaping @Sendable () -> Void
    ) {
        self.channel = channel
        self.configuration = configuration
        self.pool = pool
        self.onNotify = onNotify
        self.onLost = onLost
        self.onReady = onReady
    }

    func open() {
        guard !pool.closed else { return }
        Connector(configuration: configuration).connect(on: pool.loop) { [self] result in
            guard !pool.closed else { return }
            guard case .success(let established) = result, let handle = established.take(),
                let connection = Connection(handle: handle, loop: pool.loop, statementLimit: 1)
            else { return retry() }
            begin(connection)
        }
    }

    private func begin(_ connection: Connection) {
        self.connection = connection
        pool.companions.append(connection)
        connection.onNotify = { [self] _, payload in onNotify(payload) }
        var ready = false
        connection.onLost = { [self] cause in
            pool.companions.removeAll { $0 === self.connection }
            self.connection = nil
            configuration.log("postgres.listen.lost", cause)
            if ready { onLost() }
            retry()
        }
        let statement = Statement(SQL(raw: "LISTEN \"\(channel)\""), .write) {
            [self, weak connection] answer in
            guard case .success = answer else {
                connection?.close("LISTEN was refused")
                return
            }
            ready = true
            backoff.reset()
            onReady()
        }
        connection.submitAlone(statement)
    }

    private func retry() {
        guard !pool.closed else { return }
        pool.loop.after(backoff.next()) { [self] in open() }
    }
}
