import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ProvisioningRaceTests {
    private static let rounds = 10
    private static let atOnce = 64

    /// The doors that a person may come in by; `number` tells the identities apart.
    private enum EntryPoint: CaseIterable {
        case hook, cognito, lambda, page
    }

    @Test func `I9 a thousand racing first sign-ins on one invite end in one user, ten rounds`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        // The rounds run side by side: lines of other persons must not starve one of them either.
        try await rounds { round in
            let email = "ann\(round)@ex.com"
            try await fixture.invite(email, role: "manager")
            let answers = try await race(1000) { number in
                // Ten identities, each a hundred times.
                try await fixture.google("\(round)-\(number % 10)", email)
            }
            #expect(answers.filter { $0.status != 200 }.isEmpty)
            let winners = answers.filter { $0.json["outcome"]?.string != "refused" }
            #expect(winners.count == 100)
            #expect(Set(winners.map(\.text)).count == 1)
            #expect(
                answers.filter { $0.json["reason"]?.string == "identity_link_required" }.count
                    == 900)
            try await expectOneUser(fixture, email)
        }
    }

    @Test func `through any door of two replicas at once a person is one user, ten rounds`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let replicas = [fixture.service.composition, try fixture.service.replica()]
        try await rounds { round in
            let email = "bob\(round)@ex.com"
            let token = try await fixture.invited(email, role: "manager")
            let answers = try await race(120) { number in
                let entryPoint = EntryPoint.allCases[number % EntryPoint.allCases.count]
                let replica = replicas[number / EntryPoint.allCases.count % replicas.count]
                let (path, json) = Self.request(entryPoint, "\(round)", email, token: token)
                return try await fixture.service.send(
                    .post, path, json: json, as: .platformOwner, to: replica)
            }
            // A machine with much to do may ask to come again: 429 while too many passwords are
            // hashed at once, 503 without a connection in time.
            let odd = answers.filter { ![200, 403, 409, 429, 503].contains($0.status) }
            #expect(odd.isEmpty, "\(odd.prefix(3).map(\.text))")
            try await expectOneUser(fixture, email)
        }
    }

    /// The doors share one Google account; the page's password is another identity.
    private static func request(
        _ entryPoint: EntryPoint, _ subject: String, _ email: String, token: String
    ) -> (path: String, json: String) {
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_\(subject)", email: email)
        switch entryPoint {
        case .hook:
            return (
                "/v1/hooks/pre-signup",
                #"{"provider":"google","subject":"\#(subject)","email":"\#(email)","#
                    + #""email_verified":true}"#
            )
        case .cognito: return ("/v1/hooks/pre-signup/cognito", event)
        case .lambda: return ("/2015-03-31/functions/pre-signup/invocations", event)
        case .page:
            return (
                "/v1/invites/accept",
                #"{"token":"\#(token)","password":"a entryPoint that opens once"}"#
            )
        }
    }

    private func expectOneUser(_ fixture: ProvisioningFixture, _ email: String) async throws {
        #expect(try await fixture.count("users WHERE email_key = \(email)") == 1)
        #expect(
            try await fixture.count(
                """
                users WHERE email_key = \(email) AND status = 'active' AND role = 'manager'
                """) == 1)
        #expect(
            try await fixture.count(
                """
                identities i JOIN users u ON u.tenant_id = i.tenant_id AND u.id = i.user_id
                WHERE u.email_key = \(email)
                """) == 1)
        #expect(
            try await fixture.count("invites WHERE email_key = \(email) AND status = 'accepted'")
                == 1)
        #expect(
            try await fixture.count(
                """
                audit_events WHERE action = 'invite.accepted' AND target_name = \(email)
                """) == 1)
    }

    private func rounds(_ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for round in 0..<Self.rounds { group.addTask { try await body(round) } }
            try await group.waitForAll()
        }
    }

    private func race(
        _ count: Int, _ body: @escaping @Sendable (Int) async throws -> TestAnswer
    ) async throws -> [TestAnswer] {
        try await withThrowingTaskGroup(of: TestAnswer.self) { group in
            var answers: [TestAnswer] = []
            for number in 0..<count {
                if number >= Self.atOnce, let answer = try await group.next() {
                    answers.append(answer)
                }
                group.addTask { try await body(number) }
            }
            for try await answer in group { answers.append(answer) }
            return answers
        }
    }
}
