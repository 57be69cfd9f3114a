import Postgres
import Synchronization
import TestSupport
import Testing
import Text

/// Something between a replica and PostgreSQL that answers everything and drops notifications.
@Suite(.cleansUp) struct DeafnessTests {
    private static let tag = CacheTag(UUID(high: 3, low: 4))

    private final class Losses: Sendable {
        let causes = Mutex<[String]>([])

        /// How often a connection was given up because it was deaf.
        var deaf: Int {
            causes.withLock { $0.filter { $0.contains("notifications do not arrive") }.count }
        }
    }

    private struct Rig {
        let direct: Postgres
        let proxy: SilentProxy
        let postgres: Postgres
        let replica: Replica
        let losses = Losses()

        init(_ notifications: SilentProxy.Notifications, lease: Duration) async throws {
            let database = try await TestDatabase.make()
            direct = database.client(as: database.app)
            proxy = SilentProxy(to: database.app, notifications: notifications)
            let losses = losses
            postgres = database.client(as: proxy.passing(database.app)) {
                $0.log = { _, cause in losses.causes.withLock { $0.append(cause) } }
            }
            let replica = Replica(postgres: postgres, lease: lease)
            self.replica = replica
            replica.start()
            CleanUp.atEnd { await replica.stop() }
        }
    }

    @Test(arguments: [SilentProxy.Notifications.none, .duringStatements])
    func `who does not hear itself has no lease, and no change waits for it`(
        _ notifications: SilentProxy.Notifications
    ) async throws {
        let rig = try await Rig(notifications, lease: .milliseconds(200))
        var connections: Int?
        while rig.proxy.carried.count < (connections ?? 0) + 3 || connections == nil {
            #expect(!rig.replica.isTrusted)
            #expect(try await rig.direct.query("SELECT 1 FROM replicas").isEmpty)
            if rig.losses.deaf > 0, connections == nil { connections = rig.proxy.carried.count }
        }
        #expect(try await !rig.postgres.hearsNotifications(within: 200_000_000))
        #expect(try await rig.direct.hearsNotifications(within: 10_000_000_000))
    }

    @Test func `who turns deaf answers nothing older than a change that has returned`()
        async throws
    {
        let rig = try await Rig(.all, lease: .milliseconds(500))
        while !rig.replica.isTrusted { _ = try await rig.direct.query("SELECT 1") }
        let token = rig.replica.token
        rig.proxy.deliver(.duringStatements)
        let other = Replica(postgres: rig.direct, lease: .milliseconds(500))
        let published = try await rig.direct.transaction {
            try await other.publish([Self.tag], in: $0)
        }
        await other.awaitAcknowledgements(published)
        #expect(!rig.replica.isFresh(token, CacheTags(Self.tag)))
        while rig.losses.deaf == 0 { _ = try await rig.direct.query("SELECT 1") }
        #expect(!rig.replica.isTrusted)
        rig.proxy.deliver(.all)
        while !rig.replica.isTrusted { _ = try await rig.direct.query("SELECT 1") }
        #expect(!rig.replica.isFresh(token, CacheTags(Self.tag)))
    }

    @Test func `acknowledgements go on while echoes are heard`() async throws {
        let rig = try await Rig(.all, lease: .milliseconds(300))
        while !rig.replica.isTrusted { _ = try await rig.direct.query("SELECT 1") }
        let other = Replica(postgres: rig.direct, lease: .seconds(60))
        other.start()
        CleanUp.atEnd { await other.stop() }
        while !other.isTrusted { _ = try await rig.direct.query("SELECT 1") }
        let clock = ContinuousClock()
        let start = clock.now
        var changes = 0
        // Over several renewals: each change is acknowledged long before a lease of a minute.
        while clock.now - start < .seconds(1) {
            let published = try await rig.direct.transaction {
                try await other.publish([Self.tag], in: $0)
            }
            await other.awaitAcknowledgements(published)
            changes += 1
            #expect(rig.replica.isTrusted)
        }
        #expect(changes > 20 && rig.losses.deaf == 0)
    }
}
