import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

/// Many people at one join link, over three replicas of one database.
@Suite(.cleansUp) struct JoinLinkRaceTests {
    private static let atOnce = 64

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

    /// One person's sign-in with a link's token.
    private func knock(
        _ person: String, _ token: String, _ fixture: ProvisioningFixture, _ replica: Composition
    ) async throws -> TestAnswer {
        let attempt =
            #"{"provider":"google","subject":"\#(person)","email":"\#(person)@ex.com","#
            + #""email_verified":true,"join_token":"\#(token)"}"#
        return try await fixture.whenFree {
            try await fixture.service.send(
                .post, "/v1/hooks/pre-signup", json: attempt, as: .platformOwner, to: replica)
        }
    }

    @Test func `J7 a thousand people at a link for a hundred are a hundred users`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink(#"{"max_uses":100}"#)
        let replicas = [
            fixture.service.composition, try fixture.service.replica(),
            try fixture.service.replica(),
        ]
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let answers = try await race(1000) { number in
            try await knock("p\(number)", token, fixture, replicas[number % replicas.count])
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(answers.count { $0.json["outcome"]?.string == "created" } == 100)
        // Over a provider's limit of a minute every refusal reads `rate_limited`.
        let refusals = answers.filter { $0.json["outcome"]?.string == "refused" }
        #expect(refusals.count == 900)
        let reasons = Set(refusals.compactMap { $0.json["reason"]?.string })
        #expect(reasons.subtracting(["rate_limited"]) == ["join_used_up"])
        #expect(try await fixture.count("users WHERE source = 'join_link'") == 100)
        #expect(try await fixture.count("users") == 100)
        #expect(try await fixture.uses(id) == 100)
        #expect(try await fixture.count("audit_events WHERE action = 'join_link.used'") == 100)
    }

    @Test func `J7 the retries of one person at once take one place`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink()
        let replicas = [fixture.service.composition, try fixture.service.replica()]
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let answers = try await race(120) { number in
            try await knock("p\(number % 3)", token, fixture, replicas[number % 2])
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(Set(answers.map(\.text)).count == 3)
        #expect(try await fixture.uses(id) == 3)
        #expect(try await fixture.count("users") == 3)
    }

    @Test func `J9 once a revocation has answered nobody joins, on no replica`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let replicas = [fixture.service.composition, try fixture.service.replica()]
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        for round in 0..<5 {
            let (id, token) = try await fixture.joinLink()
            async let racing = race(40) { number in
                try await knock("r\(round)-\(number)", token, fixture, replicas[number % 2])
            }
            try await fixture.revoke(id)
            let uses = try await fixture.uses(id)
            for replica in replicas {
                let late = try await knock("late\(round)", token, fixture, replica)
                #expect(late.json["reason"]?.string == "join_revoked")
            }
            let answers = try await racing
            #expect(answers.count { $0.json["outcome"]?.string == "created" } == uses)
            #expect(try await fixture.uses(id) == uses)
        }
    }
}
