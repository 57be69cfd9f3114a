import Cryptography
import Domain
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A session's last use is a note: no answer waits for it or fails by it.
@Suite(.cleansUp) struct SessionUseTests {
    @Test func `an operator reads on while the row of the session is held`() async throws {
        let clock = TestClock()
        let fixture = try await UserFixture.make(clock: clock)
        let storage = fixture.service.storage
        let token = try await fixture.service.session(role: .owner, tenant: nil)
        let hash = try #require(TokenSecret.hash(token))
        let first = try await seen("operator_sessions", of: fixture)
        clock.advance(seconds: 61)
        try await holding("SELECT 1 FROM operator_sessions FOR UPDATE", of: fixture) {
            for _ in 0..<3 {
                let found = try await storage.operatorSession(tokenHash: hash)
                #expect(found != nil)
            }
        }
        #expect(try await seen("operator_sessions", of: fixture) == first)
        #expect(try await storage.operatorSession(tokenHash: hash) != nil)
        #expect(try await seen("operator_sessions", of: fixture) == clock.now)
    }

    @Test func `a user reads on while the row of the session is held`() async throws {
        let clock = TestClock()
        let fixture = try await UserFixture.make(clock: clock)
        let id = try await fixture.addSession(of: fixture.make("ann@acme.example"))
        let scope = fixture.service.storage.scope(fixture.tenant.id)
        let first = try await seen("sessions", of: fixture)
        clock.advance(seconds: 61)
        let row: SQL =
            "SELECT 1 FROM sessions WHERE tenant_id = \(fixture.tenant.id) AND id = \(id) FOR UPDATE"
        try await holding(row, of: fixture) {
            for _ in 0..<3 {
                let found = try await scope.signedIn(.id(id))
                #expect(found != nil)
            }
        }
        #expect(try await seen("sessions", of: fixture) == first)
        #expect(try await scope.signedIn(.id(id)) != nil)
        #expect(try await seen("sessions", of: fixture) == clock.now)
    }

    private func holding(
        _ lock: SQL, of fixture: UserFixture, _ body: () async throws -> Void
    ) async throws {
        let database = fixture.service.database
        try await database.client(as: database.administrator).transaction { transaction in
            try await transaction.query(lock)
            try await body()
        }
    }

    private func seen(_ table: String, of fixture: UserFixture) async throws -> Timestamp {
        let database = fixture.service.database
        let rows = try await database.client(as: database.administrator).read(
            "SELECT max(last_seen_at) FROM \(raw: table)")
        return try #require(rows.first).get(0)
    }
}
