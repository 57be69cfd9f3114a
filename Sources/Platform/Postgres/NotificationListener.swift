import Runtime
import Synchronization
import Text

extension Postgres {
    /// Listens on a channel over a connection of its own, which reconnects by itself. The name of
    /// the channel is trusted as SQL. Calls `onReady` each time that listening begins; changes that
    /// were missed must then be read again. Calls `onLost` when listening ends, and `onNotify` with
    /// each payload, all on the first loop. A notification that the server sent before the answer
    /// to a statement is delivered before that answer. `echoes` is another channel, only for this
    /// listener's `hearItself`.
    @discardableResult
    package func listen(
        channel: String, echoes: String? = nil,
        onNotify: @escaping @Sendable (_ payload: String) -> Void,
        onLost: @escaping @Sendable () -> Void = {},
        onReady: @escaping @Sendable () -> Void = {}
    ) -> NotificationListener {
        let listener = NotificationListener(
            channel: channel, echoes: echoes, configuration: configuration, pool: firstPool,
            onNotify: onNotify, onLost: onLost, onReady: onReady)
        firstPool.loop.perform { listener.open() }
        return listener
    }

    /// The loop that runs the listeners and the timers of the whole process.
    package var firstLoop: EventLoop { firstPool.loop }
}

/// A connection that listens for notifications. `@unchecked Sendable`: used only on its pool's
/// loop.
package final class NotificationListener: @unchecked Sendable {
    /// The cause that is given when a listening connection is closed because it did not receive a
    /// test notification.
    package static let isDeaf =
        "notifications do not arrive on this connection; is there a pooler in transaction mode?"

    /// A test notification that another connection sends and that this one should receive.
    private struct Echo {
        var finish: @Sendable (Result<Void, PostgresError>) -> Void
        /// The connection that will send the test as soon as this connection has no open statement.
        /// New statements here wait until the test is over.
        var sender: PostgresConnection?
        var isSent = false

        var needsSilence: Bool { sender != nil || isSent }
    }

    private let channel: String
    private let echoes: String?
    private let configuration: PostgresConfiguration
    private let pool: Pool
    private let onNotify: @Sendable (String) -> Void
    private let onLost: @Sendable () -> Void
    private let onReady: @Sendable () -> Void
    private var connection: PostgresConnection?
    private var isReady = false
    private var backoff = Backoff()
    private var isClosed = false
    private var echo: Echo?
    private var lastEcho = 0
    /// Statements that wait until the test notification has arrived.
    private var held: [Statement] = []

    init(
        channel: String, echoes: String?, configuration: PostgresConfiguration, pool: Pool,
        onNotify: @escaping @Sendable (String) -> Void, onLost: @escaping @Sendable () -> Void,
        onReady: @escaping @Sendable () -> Void
    ) {
        self.channel = channel
        self.echoes = echoes
        self.configuration = configuration
        self.pool = pool
        self.onNotify = onNotify
        self.onLost = onLost
        self.onReady = onReady
    }

    /// Sends a statement over the listening connection. Call this on the connection's loop. The
    /// statement fails at once if there is no connection. The server sends every earlier
    /// notification before the answer.
    package func send(
        _ sql: SQL, _ finish: @escaping @Sendable (Result<Rows, PostgresError>) -> Void
    ) {
        guard let connection, isReady else {
            return finish(.failure(PostgresError(.unavailable, "not listening")))
        }
        let statement = Statement(sql, .write) { finish($0) }
        guard echo?.needsSilence != true else { return held.append(statement) }
        connection.submitAlone(statement)
    }

    /// Tests that a notification sent now by another connection of the pool arrives here. During
    /// the test no statement is open on this connection. Otherwise the test would not detect a
    /// pooler that lends out connections for each statement: such a pooler passes on notifications
    /// while a statement is open, and drops all others. If the notification never arrives, `finish`
    /// is called only after `reconnect`. Call this on the first loop.
    func hearItself(_ finish: @escaping @Sendable (Result<Void, PostgresError>) -> Void) {
        guard connection != nil, isReady, echo == nil else {
            return finish(.failure(PostgresError(.unavailable, "not listening")))
        }
        lastEcho += 1
        let number = lastEcho
        echo = Echo(finish: finish)
        pool.acquire(until: .max) { [self] sender in
            guard let sender else { return end(number, .failure(pool.unavailable)) }
            guard echo != nil, number == lastEcho else { return pool.release(sender) }
            echo?.sender = sender
            sendEcho()
        }
    }

    /// Sends the test notification once this connection has no open statement.
    private func sendEcho() {
        guard let sender = echo?.sender, let echoes, let connection, connection.isIdle else {
            return
        }
        let number = lastEcho
        echo?.sender = nil
        echo?.isSent = true
        sender.submitAlone(
            Statement("SELECT pg_notify(\(echoes), \(number)::text)", .write) { [self] answer in
                if case .failure(let error) = answer { end(number, .failure(error)) }
            })
        pool.release(sender)
    }

    private func heard(_ payload: String) {
        guard echo?.isSent == true, Int(payload) == lastEcho, connection?.isIdle == true else {
            return
        }
        end(lastEcho, .success(()))
    }

    private func end(_ number: Int, _ answer: Result<Void, PostgresError>) {
        guard number == lastEcho, let ended = echo else { return }
        echo = nil
        if let sender = ended.sender { pool.release(sender) }
        let statements = held
        held = []
        for statement in statements {
            guard let connection else {
                statement.abandon("not listening")
                continue
            }
            connection.submitAlone(statement)
        }
        ended.finish(answer)
    }

    /// Closes a connection that gets no answers or no notifications. A new one is then opened.
    package func reconnect() {
        connection?.close(echo?.isSent == true ? Self.isDeaf : "no answer")
    }

    func close() {
        isClosed = true
        connection?.close("closing")
    }

    func open() {
        guard !pool.closed, !isClosed else { return }
        Connector(configuration: configuration).connect(on: pool.loop) { [self] result in
            guard !pool.closed, !isClosed else { return }
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
        connection.onNotify = { [self] name, payload in
            if let echoes, sameBytes(name, echoes) { heard(payload) } else { onNotify(payload) }
        }
        connection.onProgress = { [self] in sendEcho() }
        connection.onFault = { [self] error in
            configuration.outages.report(error, pool)
        }
        isReady = false
        connection.onLost = { [self] cause in
            pool.companions.removeAll { $0 === self.connection }
            self.connection = nil
            if !pool.closed, !isClosed {
                configuration.outages.lost("postgres.listener_lost", cause, pool)
            }
            end(lastEcho, .failure(PostgresError(.unavailable, cause)))
            if isReady { onLost() }
            isReady = false
            retry()
        }
        let channels = [channel] + (echoes.map { sameBytes($0, channel) ? [] : [$0] } ?? [])
        for (index, name) in channels.enumerated() {
            let isLast = index == channels.count - 1
            let listen = Statement(SQL(raw: "LISTEN \"\(name)\""), .write) {
                [self, weak connection] answer in
                guard case .success = answer else {
                    connection?.close("LISTEN was refused")
                    return
                }
                guard isLast else { return }
                isReady = true
                backoff.reset()
                onReady()
            }
            connection.submitAlone(listen)
        }
    }

    private func retry() {
        guard !pool.closed, !isClosed else { return }
        pool.loop.after(backoff.next()) { [self] in open() }
    }
}
