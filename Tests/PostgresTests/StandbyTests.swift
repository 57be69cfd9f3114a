import Postgres
import Runtime
import Synchronization
import TestSupport
import Testing
import Text

/// Reads at a real standby, whose replay the tests stop.
@Suite(.cleansUp, .serialized) struct StandbyTests {
    private static let isStandby: SQL = "SELECT pg_is_in_recovery()"

    private struct Rig {
        let rig: TestStandby
        let primary: Postgres
        let standbys: Standbys
        let before: [StandbyFallback: Int]

        /// What was counted since the start.
        func causes() -> [StandbyFallback: Int] {
            rig.measures.causes.filter { $0.value > before[$0.key] ?? 0 }
                .reduce(into: [:]) { $0[$1.key] = $1.value - (before[$1.key] ?? 0) }
        }

        func isAnswered(from position: WALPosition) async throws -> Bool {
            guard let rows = await standbys.read(isStandby, by: .app, from: position) else {
                return false
            }
            return try rows[0].get(0)
        }
    }

    private static func rig(
        positions: PrimaryPositions = PrimaryPositions(limit: 10)
    ) async throws -> Rig {
        let rig = try await TestStandby.start(isMigrated: false)
        let primary = rig.database.client(as: rig.database.administrator)
        let standbys = try await rig.standbys(
            app: "postgres", platform: "postgres", positions: positions)
        return Rig(
            rig: rig, primary: primary, standbys: standbys, before: rig.measures.causes)
    }

    @Test func `a position says what must be replayed`() async throws {
        let one = try await Self.rig()
        #expect(try await one.isAnswered(from: .start))
        try await one.rig.pause()
        let commits = CommitPosition()
        try await CommitPosition.$current.withValue(commits) {
            _ = try await one.primary.query("CREATE TABLE t (a int)")
        }
        let position = try #require(commits.newest)
        // Its neighbours of the same moment are answered.
        async let behind = one.isAnswered(from: position)
        async let neighbours = withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask { (try? await one.isAnswered(from: .start)) ?? false }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(try await behind == false)
        #expect(await neighbours == 50)
        #expect(one.causes() == [.lag: 1])
        try await one.rig.resume()
        try await one.rig.catchUp()
        #expect(try await one.isAnswered(from: position))
        let rows = await one.standbys.read("SELECT count(*) FROM t", by: .app, from: position)
        #expect(try rows?.first?.get(0) == 0)
    }

    @Test func `what was committed is seen from its position on`() async throws {
        let one = try await Self.rig()
        _ = try await one.primary.query("CREATE TABLE t (a int)")
        for number in 1...300 {
            let commits = CommitPosition()
            try await CommitPosition.$current.withValue(commits) {
                if number % 2 == 0 {
                    _ = try await one.primary.query("INSERT INTO t VALUES (\(number)::int)")
                } else {
                    try await one.primary.transaction { transaction in
                        transaction.queryLater("INSERT INTO t VALUES (\(number)::int)")
                    }
                }
            }
            let position = try #require(commits.newest)
            var seen: Int?
            while seen == nil {
                try Task.checkCancellation()
                let rows = await one.standbys.read(
                    "SELECT count(*) FROM t", by: .platform, from: position)
                seen = try rows?.first?.get(0)
            }
            #expect(seen == number)
        }
    }

    @Test func `a position is queried only if somebody collects it`() async throws {
        let one = try await Self.rig()
        let commits = CommitPosition()
        try await CommitPosition.$current.withValue(commits) {
            _ = try await one.primary.read("SELECT 1")
            try await one.primary.transaction { _ in }
        }
        #expect(commits.newest == nil && !commits.isUnknown)
        await #expect(throws: PostgresError.self) {
            try await CommitPosition.$current.withValue(commits) {
                _ = try await one.primary.query("SELECT 1 / \(0)")
            }
        }
        // It goes on after a failure.
        let rows = try await one.primary.query("SELECT 1")
        #expect(try rows[0].get(0, as: Int.self) == 1)
    }

    @Test func `a write whose plan is stale is repeated and then has its position`() async throws {
        let one = try await Self.rig()
        _ = try await one.primary.query("CREATE TABLE t (a int)")
        let insert: SQL = "INSERT INTO t SELECT t.a FROM t WHERE false RETURNING *"
        for _ in 0..<8 { _ = try await one.primary.query(insert) }
        _ = try await one.primary.query("ALTER TABLE t ADD COLUMN b text")
        let commits = CommitPosition()
        try await CommitPosition.$current.withValue(commits) {
            _ = try await one.primary.query(insert)
        }
        #expect(commits.newest != nil && !commits.isUnknown)
    }

    @Test func `a standby older than the limit is not read`() async throws {
        let time = Mutex<Int64>(0)
        let positions = PrimaryPositions(limit: 10) { time.withLock { $0 } * 1_000_000_000 }
        let one = try await Self.rig(positions: positions)
        try await one.standbys.follow(one.primary)
        try await one.rig.pause()
        _ = try await one.primary.query("CREATE TABLE t (a int)")
        try await one.rig.flush()
        time.withLock { $0 = 1 }
        try await one.standbys.follow(one.primary)
        #expect(one.rig.measures.lagBytes.current > 0)
        time.withLock { $0 = 10 }
        try await one.standbys.follow(one.primary)
        #expect(one.rig.measures.lagSeconds.current == 9)
        #expect(try await one.isAnswered(from: .start))
        time.withLock { $0 = 11 }
        #expect(try await !one.isAnswered(from: .start))
        #expect(one.causes() == [.lag: 1])
        try await one.rig.resume()
        try await one.rig.catchUp()
        #expect(try await one.isAnswered(from: .start))
        // An idle primary writes nothing, and its standby does not age.
        time.withLock { $0 = 4000 }
        try await one.standbys.follow(one.primary)
        #expect(one.rig.measures.lagSeconds.current == 0)
    }

    @Test func `a lost standby costs no time and is used again when it returns`() async throws {
        let one = try await Self.rig()
        try one.rig.crash()
        let clock = ContinuousClock()
        let start = clock.now
        for _ in 0..<20 { #expect(try await !one.isAnswered(from: .start)) }
        #expect(start.duration(to: clock.now) < .seconds(1))
        #expect(one.causes() == [.unavailable: 20])
        try one.rig.restart()
        try await TestStandby.untilAnswered(one.standbys)
        #expect(try await one.isAnswered(from: .start))
    }

    @Test func `a standby that falls silent is waited for once`() async throws {
        let rig = try await TestStandby.start(isMigrated: false)
        let proxy = SilentProxy(to: rig.conninfo("postgres"))
        let standbys = try await rig.standbys(app: "postgres", platform: "postgres", by: proxy)
        let clock = ContinuousClock()
        proxy.swallow()
        let start = clock.now
        #expect(await standbys.read(Self.isStandby, by: .app, from: .start) == nil)
        let waited = start.duration(to: clock.now)
        #expect(waited < .seconds(2), "\(waited)")
        // The connections of the other role are as silent.
        for _ in 0..<20 {
            #expect(await standbys.read(Self.isStandby, by: .platform, from: .start) == nil)
        }
        #expect(start.duration(to: clock.now) - waited < .milliseconds(500))
        proxy.pass()
        try await TestStandby.untilAnswered(standbys)
    }

    @Test func `a read that the standby refuses does not affect its neighbours`() async throws {
        let one = try await Self.rig()
        async let refused = one.standbys.read("SELECT 1 FROM no_table", by: .app, from: .start)
        async let writing = one.standbys.read("SELECT txid_current()", by: .app, from: .start)
        let rows = await (refused, writing)
        #expect(rows.0 == nil && rows.1 == nil)
        #expect(one.causes() == [.refused: 2])
        #expect(try await one.isAnswered(from: .start))
    }

    @Test func `a conflict with replay and a slow statement are the primary's`() async throws {
        let one = try await Self.rig()
        _ = try await one.primary.query("CREATE TABLE t AS SELECT 1 AS a")
        try await one.rig.catchUp()
        try await one.rig.set("max_standby_streaming_delay = 0")
        let slow: SQL = "SELECT a, pg_sleep(30) FROM t"
        var timeouts = 0
        // On a busy machine the statement's one second may end before the conflict comes.
        for column in 0..<20 where one.causes()[.conflict] == nil {
            async let rows = one.standbys.read(slow, by: .app, from: .start)
            // It holds a lock on the table once it runs.
            while try await one.rig.locks(on: "t") == 0, one.causes()[.timeout] ?? 0 == timeouts {
                try Task.checkCancellation()
            }
            _ = try await one.primary.query(
                SQL(raw: "ALTER TABLE t ADD COLUMN b\(column) int"))
            #expect(await rows == nil)
            timeouts = one.causes()[.timeout] ?? 0
            try await one.rig.catchUp()
        }
        #expect(one.causes()[.conflict] == 1)
        #expect(await one.standbys.read(slow, by: .platform, from: .start) == nil)
        #expect(one.causes() == [.conflict: 1, .timeout: timeouts + 1])
    }

    @Test func `positions have PostgreSQL's form`() {
        #expect(WALPosition("16/B374D848")?.description == "16/B374D848")
        #expect(WALPosition("0/0") == .start)
        #expect(WALPosition("ffffffff/ffffffff") == .end)
        for text in ["", "0", "0/", "/0", "0/0/0", "+1/0", "-1/0", "g/0", "1/123456789", " 1/0"] {
            #expect(WALPosition(text) == nil, "\(text)")
        }
    }
}
