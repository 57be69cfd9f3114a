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

/// Warnings and the mail server; and the rounds over all tenants.
@Suite(.cleansUp) struct InactivityMailTests {
    private static let rule = #"{"warn_days":30,"suspend_days":60}"#

    private func sendAll(_ fixture: InactivityFixture) async throws {
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
    }

    @Test func `without mails left of the hour nobody is warned, and the others' steps are taken`()
        async throws
    {
        let fixture = try await InactivityFixture.make(mails: true)
        let users = try await fixture.users(60)
        try await fixture.publish(Self.rule)
        fixture.advance(days: 60)
        let warnedAt = fixture.clock.now.adding(seconds: -30 * InactivityFixture.day)
        try await fixture.write(
            """
            INSERT INTO inactive_users (tenant_id, user_id, warned_at, by_mail)
            VALUES (\(fixture.tenant), \(users[59]), \(warnedAt), true)
            """)
        try await fixture.write(
            """
            INSERT INTO mail (id, tenant_id, kind, about, created_at)
            SELECT md5(n::text)::uuid, anchor.id, 'inactivity_warning', md5(n::text)::uuid,
                \(fixture.clock.now)
            FROM \(SQL.anchor(of: fixture.tenant)),
                generate_series(1, \(MailLimit.ofTenant - 1)::bigint) AS n
            WHERE anchor.id = \(fixture.tenant)
            """)
        try await fixture.run()
        let job = try #require(try await fixture.jobs().first)
        #expect(job.status == .done && job.done == 2 && job.failed == 0)
        #expect(try await fixture.audited("user.inactivity_warned") == 1)
        #expect(try await fixture.status(users[59]) == .suspended)
        // A day later there are mails again.
        try await fixture.run(days: 1)
        #expect(try await fixture.audited("user.inactivity_warned") == 4)
    }

    @Test func `a warning that the mail server never took is sent again, before a suspension`()
        async throws
    {
        let fixture = try await InactivityFixture.make(mails: true)
        let user = try await fixture.users(1)[0]
        try await fixture.publish(Self.rule)
        fixture.sink?.refuse("450 busy")
        for _ in 0..<40 {
            try await fixture.run(days: 1)
            try await sendAll(fixture)
        }
        #expect(try await fixture.audited("user.inactivity_warned") > 1)
        fixture.sink?.refuse(nil)
        for _ in 0..<20 where fixture.sink?.mails.isEmpty == true {
            try await fixture.run(days: 1)
            try await sendAll(fixture)
        }
        #expect(fixture.sink?.mails.isEmpty == false)
        let warnings = try await fixture.audited("user.inactivity_warned")
        let last = try await fixture.scope.read(
            "SELECT warned_at FROM inactive_users WHERE tenant_id = \(fixture.tenant)"
        )[0].get(0, as: Timestamp.self)
        let end = last.adding(seconds: 30 * InactivityFixture.day)
        while fixture.clock.now.adding(seconds: InactivityFixture.day) < end {
            try await fixture.run(days: 1)
            try await sendAll(fixture)
            #expect(try await fixture.status(user) == .active)
        }
        try await fixture.run(days: 1)
        #expect(try await fixture.status(user) == .suspended)
        #expect(try await fixture.audited("user.inactivity_warned") == warnings)
    }

    @Test func `an address that the mail server refuses for good was warned`() async throws {
        let fixture = try await InactivityFixture.make(mails: true)
        let user = try await fixture.users(1)[0]
        try await fixture.publish(Self.rule)
        fixture.sink?.refuse("550 no such user")
        for _ in 0..<60 {
            try await fixture.run(days: 1)
            try await sendAll(fixture)
        }
        #expect(try await fixture.audited("user.inactivity_warned") == 1)
        #expect(try await fixture.status(user) == .suspended)
    }

    @Test func `a tenant whose day cannot begin keeps no other from it`() async throws {
        let fixture = try await InactivityFixture.make()
        let other = try await fixture.service.makeTenant("other")
        try await fixture.service.storage.addUsers(1...1, to: other.id)
        _ = try await fixture.users(1)
        for slug in ["acme", "other"] {
            for query in ["?dry_run=true", ""] {
                let done = try await fixture.service.send(
                    .put, "/v1/tenants/\(slug)/policy\(query)",
                    json: #"{"inactivity":{"suspend_days":30}}"#,
                    as: try await fixture.operator(.owner), fields: [Field("if-match", "*")])
                #expect(done.status == 200, "\(done.text)")
            }
        }
        let first = min(fixture.tenant, other.id)
        let second = max(fixture.tenant, other.id)
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        _ = try await administrator.query(
            SQL(
                raw: """
                    ALTER TABLE inactivity_days
                    ADD CONSTRAINT broken CHECK (tenant_id <> '\(first)')
                    """))
        fixture.advance(days: 30)
        await #expect(throws: (any Error).self) {
            try await fixture.service.composition.inactivity.round()
        }
        try await fixture.service.composition.jobs.round()
        let rows = try await fixture.service.storage.scope(second).read(
            "SELECT count(*) FROM users WHERE tenant_id = \(second) AND status = 'suspended'")
        #expect(try #require(rows.first).get(0, as: Int.self) == 1)
    }
}
