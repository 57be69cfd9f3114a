import Postgres
import Runtime
import Synchronization
import TestSupport
import Testing

@Suite(.cleansUp) struct OutageTests {
    @Test func `a terminated backend costs its write and nothing else`() async throws {
        let (postgres, _) = try await makeDatabase(transactionsPerLoop: 2)
        await #expect {
            try await postgres.transaction { transaction in
                let pid = try await transaction.query("SELECT pg_backend_pid()")[0]
                    .get(0, as: Int.self)
                _ = try await postgres.query("SELECT pg_terminate_backend(\(pid)::int)")
                _ = try await transaction.query("SELECT 1")
            }
        } throws: {
            ($0 as? PostgresError)?.isUnavailable == true
        }
        let survived: Int = try await postgres.written("SELECT 5")
        #expect(survived == 5)
        await #expect {
            try await postgres.query("SELECT pg_terminate_backend(pg_backend_pid())")
        } throws: {
            let kind = ($0 as? PostgresError)?.kind
            return kind == .unavailable || kind == .commitUnknown
        }
        let again: Int = try await postgres.written("SELECT 6")
        #expect(again == 6)
    }

    @Test func `reads go on after their connection was terminated`() async throws {
        let (postgres, _) = try await makeDatabase(readsPerLoop: 1)
        _ = try await postgres.read("SELECT 1")
        _ = try await postgres.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """)
        for number in 0..<20 {
            #expect(try await postgres.one("SELECT \(number)") == number)
        }
    }

    @Test func `a server that is down is reported in time and used again when it returns`()
        async throws
    {
        let cluster = try TestCluster.start()
        let configuration = PostgresConfiguration(conninfo: cluster.conninfo)
        let postgres = Postgres(configuration: configuration, loops: Loops.shared)
        CleanUp.atEnd { await postgres.close() }
        _ = try await postgres.query("CREATE TABLE t (a int)")
        try cluster.crash()
        let clock = ContinuousClock()
        for write in [false, true] {
            let start = clock.now
            await #expect {
                _ =
                    try await write
                    ? postgres.query("INSERT INTO t VALUES (1)") : postgres.read("SELECT 1")
            } throws: {
                let kind = ($0 as? PostgresError)?.kind
                return kind == .unavailable || kind == .commitUnknown
            }
            // 1.5 s by the limits; the rest is for a machine that is busy with other tests.
            #expect(clock.now - start < .seconds(5))
        }
        try cluster.restart()
        let start = clock.now
        var answered = 0
        while answered < 2, clock.now - start < .seconds(5) {
            guard (try? await postgres.read("SELECT 1")) != nil,
                (try? await postgres.query("SELECT 1")) != nil
            else { continue }
            answered += 1
        }
        #expect(clock.now - start < .seconds(3))
    }

    @Test func `an outage is logged at its beginning and its end, once for all pools`()
        async throws
    {
        let cluster = try TestCluster.start()
        let lines = Mutex<[String]>([])
        let log: @Sendable (StaticString, String) -> Void = { event, detail in
            lines.withLock { $0.append("\(event): \(detail)") }
        }
        var configuration = PostgresConfiguration(conninfo: cluster.conninfo)
        configuration.log = log
        let pools = [configuration, configuration].map {
            Postgres(configuration: $0, loops: Loops.shared)
        }
        CleanUp.atEnd { for pool in pools { await pool.close() } }
        for pool in pools { _ = try await pool.query("SELECT 1") }
        pools[0].listen(channel: "news", onNotify: { _ in })
        try cluster.crash()
        let clock = ContinuousClock()
        let start = clock.now
        while clock.now - start < .seconds(2) {
            for pool in pools { _ = try? await pool.read("SELECT 1") }
        }
        let during = lines.withLock { $0 }
        #expect(during.count == 1 && during[0].hasPrefix("postgres."), "\(during)")
        try cluster.restart()
        while lines.withLock({ $0.count }) < 2, clock.now - start < .seconds(60) {
            for pool in pools { _ = try? await pool.query("SELECT 1") }
        }
        let after = lines.withLock { $0 }
        #expect(after.count == 2, "\(after)")
        let end = /postgres\.recovered: connected again after \d+ s, \d+ failures/
        #expect(after.last?.wholeMatch(of: end) != nil, "\(after)")
    }

    @Test func `every query after the close is unavailable`() async throws {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.read("SELECT 1")
        await postgres.close()
        await #expect { try await postgres.read("SELECT 1") } throws: {
            ($0 as? PostgresError)?.isUnavailable == true
        }
        await #expect { try await postgres.query("SELECT 1") } throws: {
            ($0 as? PostgresError)?.isUnavailable == true
        }
    }

    /// The receiver may write on the listening connection, which may turn out to be gone.
    @Test func `the connection may end while a notification is delivered`() async throws {
        let (postgres, _) = try await makeDatabase()
        let (events, feed) = AsyncStream.makeStream(of: String.self)
        let listener = Mutex<NotificationListener?>(nil)
        listener.withLock {
            $0 = postgres.listen(
                channel: "news",
                onNotify: { text in
                    feed.yield("got \(text)")
                    listener.withLock { $0 }?.reconnect()
                },
                onLost: { feed.yield("lost") }, onReady: { feed.yield("ready") })
        }
        var next = events.makeAsyncIterator()
        #expect(await next.next() == "ready")
        postgres.firstLoop.perform {
            listener.withLock { $0 }?.send(
                "SELECT pg_notify('news', 'one'), pg_notify('news', 'two')"
            ) { _ in }
        }
        #expect(await next.next() == "got one")
        #expect(await next.next() == "lost")
        #expect(await next.next() == "ready")
    }

    @Test func `notifications arrive, also after the connection was lost`() async throws {
        let (postgres, _) = try await makeDatabase()
        let (events, feed) = AsyncStream.makeStream(of: String.self)
        postgres.listen(
            channel: "news", onNotify: { feed.yield("got \($0)") },
            onLost: { feed.yield("lost") }, onReady: { feed.yield("ready") })
        var next = events.makeAsyncIterator()
        #expect(await next.next() == "ready")
        _ = try await postgres.query("SELECT pg_notify('news', 'one')")
        #expect(await next.next() == "got one")
        _ = try await postgres.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE 'LISTEN%'
            """)
        #expect(await next.next() == "lost")
        #expect(await next.next() == "ready")
        _ = try await postgres.query("SELECT pg_notify('news', 'two')")
        #expect(await next.next() == "got two")
    }
}
