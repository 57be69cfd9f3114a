import API
import Application
import Domain
import HTTP
import JSON
import Mail
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
            SELECT gen_random_uuid(), \(fixture.tenant), 'inactivity_warning', gen_random_uuid(),
                \(fixture.clock.now) FROM generate_series(1, \(MailLimit.ofTenant - 1)::bigint)
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
}
