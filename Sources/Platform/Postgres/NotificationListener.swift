import Networking

extension Postgres {
    /// Listens on a channel (trusted as SQL) with its own connection, which reconnects by itself.
    /// All callbacks run on the first loop: `onReady` each time listening begins, when missed
    /// changes must be read again; `onLost` when it ends; `onNotify` with the payload. A
    /// notification that the server sent before an answer is delivered before that answer.
    @discardableResult
    package func listen(
        channel: String,
        onNotify: @escaping @Sendable (_ payload: String) -> Void,
        onLost: @escaping @Sendable () -> Void = {},
        onReady: @escaping @Sendable () -> Void = {}
    ) -> NotificationListener {
        let listener = NotificationListener(
            channel: channel, configuration: configuration, pool: firstPool,
            onNotify: onNotify, onLost: onLost, onReady: onReady)
        firstPool.loop.perform { listener.open() }
        return listener
    }

    /// The loop that listeners and timers of the whole process run on.
    package var firstLoop: EventLoop { firstPool.loop }
}

/// A connection that listens. `@unchecked Sendable`: touched on its pool's loop only.
package final class NotificationListener: @unchecked Sendable {
    private let channel: String
    private let configuration: PostgresConfiguration
    private let pool: Pool
    private let onNotify: @Sendable (String) -> Void
    private let onLost: @Sendable () -> Void
    private let onReady: @Sendable () -> Void
    private var connection: PostgresConnection?
    private var isReady = false
    private var backoff = Backoff()
    private var faultLog = FaultLog()

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

    /// A statement on the listening connection, on its loop; fails at once without a connection.
    /// The server answers only after it has sent every earlier notification.
    package func send(
        _ sql: SQL, _ finish: @escaping @Sendable (Result<Rows, PostgresError>) -> Void
    ) {
        guard let connection, isReady else {
            return finish(.failure(PostgresError(.unavailable, "not listening")))
        }
        connection.submitAlone(Statement(sql, .write) { finish($0) })
    }

    /// Closes a connection whose server is silent; another is opened.
    package func reconnect() { connection?.close("no answer") }

    func open() {
        guard !pool.closed else { return }
        Connector(configuration: configuration).connect(on: pool.loop) { [self] result in
            guard !pool.closed else { return }
            guard case .success(let established) = result, let handle = established.take(),
                let connection = PostgresConnection(
                    handle: handle, loop: pool.loop, configuration: pool.configuration,
                    isDistributed: established.isDistributed)
            else { return retry() }
            begin(connection)
        }
    }

    private func begin(_ connection: PostgresConnection) {
        self.connection = connection
        pool.companions.append(connection)
        connection.onNotify = { [self] _, payload in onNotify(payload) }
        connection.onFault = { [self] error in
            guard let name = error.fault, faultLog.mayTell(name, at: pool.loop.now) else { return }
            configuration.log(name, error.detail)
        }
        isReady = false
        connection.onLost = { [self] cause in
            pool.companions.removeAll { $0 === self.connection }
            self.connection = nil
            if !pool.closed { configuration.log("postgres.listen.lost", cause) }
            if isReady { onLost() }
            isReady = false
            retry()
        }
        let statement = Statement(SQL(raw: "LISTEN \"\(channel)\""), .write) {
            [self, weak connection] answer in
            guard case .success = answer else {
                connection?.close("LISTEN was refused")
                return
            }
            isReady = true
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
