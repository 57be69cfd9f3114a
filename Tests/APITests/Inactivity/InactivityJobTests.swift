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

/// Whom the rule for inactivity warns, suspends and deletes.
@Suite(.cleansUp) struct InactivityJobTests {
    private static let day = InactivityFixture.day
    private static let all = #"{"warn_days":30,"suspend_days":60,"delete_days":90}"#

    @Test func `a person is warned once, suspended, and deleted, and one job does each`()
        async throws
    {
        let fixture = try await InactivityFixture.make(mails: true)
        let user = try await fixture.users(1)[0]
        try await fixture.publish(Self.all)
        try await fixture.run(days: 29)
        #expect(try await fixture.jobs().isEmpty)
        try await fixture.run(days: 1)
        #expect(try await fixture.warnings() == 1)
        let mailSender = try #require(fixture.service.composition.mailSender)
        while try await mailSender.round() > 0 {}
        let mail = try #require(fixture.sink?.mails.first)
        let text = try #require(mail.parts.first)
        let end = fixture.clock.now.adding(seconds: 30 * Self.day).description.prefix(10)
        #expect(text.contains(String(end)) && text.contains("sign in"), "\(text)")
        #expect(try await fixture.status(user) == .active)
        try await fixture.run(days: 29)
        #expect(try await fixture.status(user) == .active)
        #expect(try await fixture.audited("user.inactivity_warned") == 1)
        try await fixture.run(days: 1)
        #expect(try await fixture.status(user) == .suspended)
        try await fixture.run(days: 29)
        #expect(try await fixture.status(user) == .suspended)
        try await fixture.run(days: 1)
        #expect(try await fixture.status(user) == .deleted)
        let jobs = try await fixture.jobs()
        #expect(jobs.count == 3 && jobs.allSatisfy { $0.status == .done && $0.total == 1 })
        #expect(jobs.allSatisfy { $0.createdByType == "system" })
        let reasons = try await fixture.base.count(
            """
            audit_events WHERE action IN ('user.suspended', 'user.deleted')
                AND actor_type = 'system' AND changes->'reason'->>1 = 'inactivity'
            """)
        #expect(reasons == 2)
    }

    /// Each counts: until a microsecond before 30 days are over nothing is done.
    @Test func `every kind of use counts, to the microsecond`() async throws {
        let fixture = try await InactivityFixture.make()
        let users = try await fixture.users(6)
        let key = try await BulkFixture(base: fixture.base, clock: fixture.clock)
            .key(["users:read"], owner: users[3])
        var sessions: [UUID] = []
        for user in users[1...2] {
            sessions.append(try await fixture.base.addSession(of: user.description))
        }
        try await fixture.publish(#"{"suspend_days":30}"#)
        fixture.advance(days: 100)
        let end = fixture.clock.now.adding(seconds: -30 * Self.day)
        func use(_ at: Timestamp) async throws {
            try await fixture.write(
                "UPDATE users SET last_sign_in_at = \(at) WHERE id = \(users[0])")
            try await fixture.write("UPDATE sessions SET last_seen_at = \(at)")
            try await fixture.write(
                "UPDATE user_uses SET used_at = \(at) WHERE user_id = \(users[2])")
            try await fixture.write(
                "UPDATE api_keys SET last_used_at = \(at) WHERE id = \(UUID(key.id) ?? .platform)")
            try await fixture.write("UPDATE users SET created_at = \(at) WHERE id = \(users[4])")
            try await fixture.write("UPDATE users SET resumed_at = \(at) WHERE id = \(users[5])")
        }
        try await use(Timestamp(microseconds: end.microseconds + 1))
        // The last use of a session outlasts it.
        try await fixture.write("DELETE FROM sessions WHERE id = \(sessions[1])")
        try await fixture.run()
        #expect(try await fixture.jobs().isEmpty)
        #expect(try await fixture.count(.suspended) == 0)
        try await use(end)
        try await fixture.write("DELETE FROM inactivity_days")
        // One a day of so few.
        for _ in users {
            try await fixture.run()
            try await fixture.write("DELETE FROM inactivity_days")
        }
        #expect(try await fixture.count(.suspended) == 6)
    }

    @Test func `admins, kept users and waiting people are left out when the job acts`()
        async throws
    {
        let fixture = try await InactivityFixture.make()
        let users = try await fixture.users(4)
        try await fixture.publish(#"{"suspend_days":30}"#)
        let kept = try await fixture.send(
            .patch, "/\(users[0])", json: #"{"keep":true}"#)
        #expect(kept.status == 200 && kept.json["keep"] == .bool(true), "\(kept.text)")
        try await fixture.write("UPDATE users SET role = 'admin' WHERE id = \(users[1])")
        try await fixture.write("UPDATE users SET status = 'pending' WHERE id = \(users[2])")
        try await fixture.run(days: 40)
        #expect(try await fixture.status(users[0]) == .active)
        #expect(try await fixture.status(users[1]) == .active)
        #expect(try await fixture.status(users[2]) == .pending)
        #expect(try await fixture.status(users[3]) == .suspended)
        #expect(try await fixture.jobs().count == 1)
    }

    @Test func `keep is an operator's, and audited`() async throws {
        let fixture = try await InactivityFixture.make()
        let user = try await fixture.users(1)[0]
        let key = try await BulkFixture(base: fixture.base, clock: fixture.clock)
            .key(["users:read", "users:write"], owner: user)
        let own = try await fixture.service.send(
            .patch, "/v1/tenants/acme/users/\(user)", json: #"{"keep":true}"#,
            as: .bearer(key.secret))
        #expect(own.status == 403, "\(own.text)")
        let bad = try await fixture.send(.patch, "/\(user)", json: #"{"keep":"yes"}"#)
        #expect(bad.status == 422)
        #expect(
            try await fixture.send(.patch, "/\(user)", json: #"{"keep":true}"#).status == 200)
        let listed = try await fixture.send(.get, "?limit=1")
        #expect(listed.json["items"]?.array?.first?["keep"] == .bool(true))
        let made = try await fixture.send(
            .post, "", json: #"{"email":"kept@acme.example","keep":true}"#)
        #expect(made.status == 201 && made.json["keep"] == .bool(true))
        let changes = try await fixture.base.count(
            "audit_events WHERE changes->'keep'->>1 = 'true'")
        #expect(changes == 2)
    }

    @Test func `at most 5 percent are acted on in a day, however often it runs`() async throws {
        let fixture = try await InactivityFixture.make()
        _ = try await fixture.users(60)
        try await fixture.publish(#"{"suspend_days":30}"#)
        fixture.advance(days: 30)
        try await fixture.run()
        try await fixture.run()
        #expect(try await fixture.count(.suspended) == 3)
        #expect(try await fixture.jobs().count == 1)
        // A second job of the same day, and a clock that goes back.
        for seconds in [Int64(60), -3 * Self.day] {
            fixture.clock.advance(seconds: seconds)
            _ = try await fixture.scope.change(by: .system) { change in
                try await change.createJob("inactivity", .object([]), total: nil, by: .system)
            }
            try await fixture.run()
            #expect(try await fixture.count(.suspended) == 3)
        }
        fixture.advance(days: 3)
        try await fixture.run(days: 1)
        #expect(try await fixture.count(.suspended) == 6)
        #expect(try await fixture.jobs().allSatisfy { $0.status == .done })
    }

    @Test func `publishing the rule or resuming the tenant restarts the days`() async throws {
        let fixture = try await InactivityFixture.make()
        let user = try await fixture.users(1)[0]
        try await fixture.publish(#"{"suspend_days":30}"#)
        try await fixture.run(days: 20)
        try await fixture.publish(#"{"suspend_days":31}"#)
        try await fixture.run(days: 30)
        #expect(try await fixture.status(user) == .active)
        // Another part of the policy does not.
        let other = try await fixture.put(#"{"suspend_days":31}"#, more: #","sign_up":"open""#)
        #expect(other.status == 200)
        for verb in ["suspend", "resume"] {
            try await fixture.turn(verb)
        }
        try await fixture.run(days: 30)
        #expect(try await fixture.status(user) == .active)
        try await fixture.run(days: 1)
        #expect(try await fixture.status(user) == .suspended)
    }

    @Test func `a user who returns starts again, and is warned again before a suspension`()
        async throws
    {
        let fixture = try await InactivityFixture.make(mails: true)
        let user = try await fixture.users(1)[0]
        try await fixture.publish(#"{"warn_days":30,"suspend_days":60}"#)
        try await fixture.run(days: 40)
        #expect(try await fixture.audited("user.inactivity_warned") == 1)
        try await fixture.write(
            "UPDATE users SET last_sign_in_at = \(fixture.clock.now) WHERE id = \(user)")
        try await fixture.run(days: 59)
        #expect(try await fixture.status(user) == .active)
        #expect(try await fixture.audited("user.inactivity_warned") == 2)
        try await fixture.run(days: 1)
        #expect(try await fixture.status(user) == .suspended)
        let resumed = try await fixture.send(.post, "/\(user)/resume")
        #expect(resumed.status == 200)
        try await fixture.run(days: 29)
        #expect(try await fixture.audited("user.inactivity_warned") == 2)
        try await fixture.run(days: 1)
        #expect(try await fixture.audited("user.inactivity_warned") == 3)
    }

    @Test func `without a mail server the warning is a recorded result, and its time is kept`()
        async throws
    {
        let fixture = try await InactivityFixture.make()
        let user = try await fixture.users(1)[0]
        try await fixture.publish(#"{"warn_days":30,"suspend_days":60}"#)
        try await fixture.run(days: 59)
        let job = try #require(try await fixture.jobs().first)
        let row = try #require(
            try await fixture.scope.results(of: job.id, after: 0, limit: 2).first)
        #expect(row.status == .unchanged && row.code == "no_mail_server")
        #expect(row.targetID == user)
        #expect(try await fixture.warnings() == 0)
        #expect(try await fixture.status(user) == .active)
        try await fixture.run(days: 1)
        #expect(try await fixture.status(user) == .suspended)
    }

    @Test func `only who was suspended by the rule and not changed since is deleted`() async throws
    {
        let fixture = try await InactivityFixture.make()
        let users = try await fixture.users(3)
        try await fixture.publish(#"{"suspend_days":30,"delete_days":60}"#)
        let suspended = try await fixture.send(.post, "/\(users[0])/suspend")
        #expect(suspended.status == 200)
        try await fixture.run(days: 35)
        #expect(try await fixture.count(.suspended) == 3)
        let edited = try await fixture.send(
            .patch, "/\(users[1])", json: #"{"name":"Ann"}"#)
        #expect(edited.status == 200)
        try await fixture.run(days: 60)
        #expect(try await fixture.status(users[0]) == .suspended)
        #expect(try await fixture.status(users[1]) == .suspended)
        #expect(try await fixture.status(users[2]) == .deleted)
    }

    @Test func `a merge and its undoing count as a use of both`() async throws {
        let fixture = try await InactivityFixture.make()
        let users = try await fixture.users(2)
        try await fixture.publish(#"{"suspend_days":30}"#)
        fixture.advance(days: 30)
        let merged = try await fixture.send(
            .post, "/merges", json: #"{"winner":"\#(users[0])","loser":"\#(users[1])"}"#)
        #expect(merged.status == 201, "\(merged.text)")
        try await fixture.run()
        #expect(try await fixture.jobs().isEmpty)
        fixture.advance(days: 29)
        let id = try #require(merged.json["id"]?.string)
        let undone = try await fixture.send(.post, "/merges/\(id)/undo")
        #expect(undone.status == 200, "\(undone.text)")
        try await fixture.run(days: 29)
        #expect(try await fixture.count(.suspended) == 0)
        try await fixture.run(days: 2)
        #expect(try await fixture.count(.suspended) == 2)
    }

    @Test func `other tenants are untouched`() async throws {
        let fixture = try await InactivityFixture.make()
        let other = try await fixture.service.makeTenant("other")
        try await fixture.service.storage.addUsers(1...3, to: other.id)
        _ = try await fixture.users(1)
        try await fixture.publish(#"{"suspend_days":30}"#)
        try await fixture.run(days: 31)
        #expect(try await fixture.count(.suspended) == 1)
        let left = try await fixture.service.storage.scope(other.id).read(
            "SELECT count(*) FROM users WHERE tenant_id = \(other.id) AND status = 'active'")
        #expect(try #require(left.first).get(0, as: Int.self) == 3)
        #expect(try await fixture.service.storage.scope(other.id).standingInactivity() == nil)
    }
}
