import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What counts as a use beside sign-ins, sessions and keys: how an account came to be active.
@Suite(.cleansUp) struct InactivityUseTests {
    private static let rule = #"{"suspend_days":30}"#
    private static let password = "correct horse battery staple"

    /// A rule that stands for 100 days; what is made before it is old by then.
    private func make(
        _ before: (InactivityFixture) async throws -> Void = { _ in }
    ) async throws -> InactivityFixture {
        let fixture = try await InactivityFixture.make()
        try await fixture.publish(Self.rule)
        try await before(fixture)
        fixture.advance(days: 100)
        return fixture
    }

    /// Active for 30 days from now, and suspended then.
    private func expectDays(of email: String, _ fixture: InactivityFixture) async throws {
        func status() async throws -> String {
            let rows = try await fixture.scope.read(
                "/* test */ SELECT status FROM users WHERE tenant_id = \(fixture.tenant) AND email = \(email)"
            )
            return try #require(rows.first).get(0)
        }
        #expect(try await status() == "active")
        try await fixture.run(days: 29)
        #expect(try await status() == "active")
        try await fixture.run(days: 1)
        #expect(try await status() == "suspended")
    }

    private func importing(_ row: String, _ fixture: InactivityFixture) async throws {
        let answer = try await fixture.service.send(
            .post, "/v1/tenants/acme/imports?format=ndjson&on_conflict=update", json: row,
            as: try await fixture.operator(.owner, fixture.tenant),
            fields: [Field("content-type", "application/x-ndjson")])
        #expect(answer.status == 202, "\(answer.text)")
        try await fixture.service.composition.jobs.round()
    }

    @Test func `an imported user's days begin with the import, however old the account is`()
        async throws
    {
        let fixture = try await make()
        try await importing(
            #"{"email":"ann@acme.example","created_at":"2021-02-03T04:05:06Z","#
                + #""identities":[{"provider":"oidc","issuer":"https://idp.example","subject":"1"}]}"#,
            fixture)
        try await expectDays(of: "ann@acme.example", fixture)
    }

    @Test func `an imported password of a person who waited starts the inactivity days`()
        async throws
    {
        let fixture = try await make { fixture in
            _ = try await fixture.send(.post, "", json: #"{"email":"ann@acme.example"}"#)
        }
        try await importing(
            #"{"email":"ann@acme.example","email_verified":true,"password_hash":"$2b$10$"#
                + #"abcdefghijklmnopqrstuuREtd3VJD2QVZbuFskFSLk6eRIrQoOS1"}"#, fixture)
        try await expectDays(of: "ann@acme.example", fixture)
    }

    @Test func `accepting an invite at its page starts the inactivity days`() async throws {
        let fixture = try await make { fixture in
            _ = try await fixture.send(.post, "", json: #"{"email":"ann@acme.example"}"#)
        }
        let made = try await fixture.service.send(
            .post, "/v1/tenants/acme/invites", json: #"{"email":"ann@acme.example"}"#,
            as: try await fixture.operator(.owner, fixture.tenant))
        let token = try #require(made.json["token"]?.string, "\(made.text)")
        let taken = try await fixture.service.send(
            .post, "/v1/invites/accept",
            json: #"{"token":"\#(token)","password":"\#(Self.password)"}"#)
        #expect(taken.status == 200, "\(taken.text)")
        try await expectDays(of: "ann@acme.example", fixture)
    }

    @Test func `a password that is set by a link is a use`() async throws {
        let fixture = try await make { fixture in
            let user = try await fixture.users(1)[0]
            try await fixture.write(
                "UPDATE users SET email = 'ann@acme.example' WHERE id = \(user)")
        }
        let user = try await fixture.scope.read(
            "SELECT id FROM users WHERE tenant_id = \(fixture.tenant)")[0].get(0, as: UUID.self)
        let link = try await fixture.send(.post, "/\(user)/password-link")
        let url = try #require(link.json["url"]?.string, "\(link.text)")
        let token = url.split(separator: "=").last.map(String.init) ?? ""
        let set = try await fixture.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(token)","password":"\#(Self.password)"}"#)
        #expect(set.status == 204, "\(set.text)")
        try await expectDays(of: "ann@acme.example", fixture)
    }

    @Test func `a merged user's keep mark moves to the winner, and the undo reverses that`()
        async throws
    {
        let fixture = try await InactivityFixture.make()
        let users = try await fixture.users(2)
        let kept = try await fixture.send(.patch, "/\(users[1])", json: #"{"keep":true}"#)
        #expect(kept.status == 200)
        let merged = try await fixture.send(
            .post, "/merges", json: #"{"winner":"\#(users[0])","loser":"\#(users[1])"}"#)
        #expect(merged.status == 201, "\(merged.text)")
        #expect(try await fixture.user(users[0]).isKept)
        #expect(try await fixture.audited("user.merged") == 2)
        let changes = try await fixture.base.count(
            "audit_events WHERE action = 'user.merged' AND changes->'keep'->>1 = 'true'")
        #expect(changes == 1)
        let id = try #require(merged.json["id"]?.string)
        let undone = try await fixture.send(.post, "/merges/\(id)/undo")
        #expect(undone.status == 200, "\(undone.text)")
        #expect(try await !fixture.user(users[0]).isKept)
        #expect(try await fixture.user(users[1]).isKept)
    }

    /// The end of the session, which notes its use, commits while the purge waits for it.
    @Test func `a purge leaves no use of the user, though a session ends beside it`() async throws {
        let fixture = try await InactivityFixture.make()
        let user = try await fixture.users(1)[0]
        _ = try await fixture.base.addSession(of: user.description)
        let database = fixture.service.storage
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await fixture.scope.change(by: .system) { change in
                try await change.query(
                    "/* test */ DELETE FROM sessions WHERE tenant_id = \(change.tenant)")
                group.addTask {
                    try await fixture.scope.change(by: .system) { change in
                        _ = try await change.purgeUser(change.lockUser(user))
                    }
                }
                while try await !fixture.service.database.waitsForLock() { await Task.yield() }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.base.count("users WHERE id = \(user)") == 0)
        #expect(try await fixture.base.count("user_uses") == 0)
    }
}
