import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Storage

/// No use of a key counts twice, and none that was not written is forgotten, where the connection that writes it is lost.
@Suite(.cleansUp, .onOneServer) struct UsesAfterOutageTests {
    private struct Rig {
        let service: TestService
        let administrator: Postgres
        let secret: String

        func use() async throws {
            #expect(try await service.verdict(secret) == "valid")
        }

        /// Ends the app's sessions that wait for `event` as soon as there is one. False: the writing ended before.
        func cut(_ event: String, unless writing: Writing) async throws -> Bool {
            while true {
                let isEnded = writing.isEnded.load(ordering: .acquiring)
                let cut = try await administrator.query(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND usename = 'gatehouse_app'
                        AND wait_event = \(event)
                    """)
                if !cut.isEmpty { return true }
                if isEnded { return false }
            }
        }

        func counted() async throws -> Int {
            let rows = try await administrator.query("SELECT sum(uses)::bigint FROM api_key_uses")
            return try rows[0].get(0, as: Int?.self) ?? 0
        }
    }

    /// One round of writing, in the background.
    private final class Writing: Sendable {
        let isEnded = Atomic(false)
        private let task = Mutex<Task<Void, Never>?>(nil)

        init(_ storage: Database) {
            task.withLock {
                $0 = Task { [self] in
                    await storage.writeKeyUses()
                    isEnded.store(true, ordering: .releasing)
                }
            }
        }

        func end() async { await task.withLock { $0 }?.value }
    }

    private func makeRig(over database: TestDatabase) async throws -> Rig {
        let administrator = database.client(as: database.administrator)
        let service = try await TestService.make(over: database)
        _ = try await service.makeTenant("acme")
        let key = try await service.makeKey(#""smtp""#)
        return Rig(service: service, administrator: administrator, secret: key.secret)
    }

    /// On a server of its own, whose every commit waits while a standby is named.
    private func makeRigOfItsOwn() async throws -> Rig {
        let database = try await TestDatabase.makeEmpty(in: TestCluster.start())
        try Migrator.migrate(
            conninfo: database.owner, directory: "\(TestCluster.root)/Migrations")
        let rig = try await makeRig(over: database)
        try await set(rig, "synchronous_commit = on")
        return rig
    }

    private func set(_ rig: Rig, _ setting: String) async throws {
        _ = try await rig.administrator.query(SQL(raw: "ALTER SYSTEM SET \(setting)"))
        _ = try await rig.administrator.query("SELECT pg_reload_conf()")
    }

    @Test func `uses whose commit is written and not confirmed are not counted twice`()
        async throws
    {
        let rig = try await makeRigOfItsOwn()
        // A commit is written, and waits for a standby that never comes.
        try await set(rig, "synchronous_standby_names = 'absent'")
        var uses = 0
        var isCut = false
        // The server takes the setting a moment later.
        while !isCut, uses < 1000 {
            try await rig.use()
            uses += 1
            let writing = Writing(rig.service.storage)
            isCut = try await rig.cut("SyncRep", unless: writing)
            if isCut { try await set(rig, "synchronous_standby_names = ''") }
            await writing.end()
        }
        #expect(isCut)
        #expect(try await rig.counted() == uses)
        await rig.service.storage.writeKeyUses()
        #expect(try await rig.counted() == uses)
    }

    @Test func `uses whose writing was cut off before its commit are counted the next time`()
        async throws
    {
        let rig = try await makeRig(over: TestDatabase.make())
        try await rig.use()
        try await rig.administrator.transaction { transaction in
            try await transaction.query("SELECT 1 FROM tenants FOR UPDATE")
            let writing = Writing(rig.service.storage)
            #expect(try await rig.cut("transactionid", unless: writing))
            await writing.end()
        }
        #expect(try await rig.counted() == 0)
        await rig.service.storage.writeKeyUses()
        #expect(try await rig.counted() == 1)
    }
}
