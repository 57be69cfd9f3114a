import JSON
import Postgres
import TestSupport
import Testing
import Text

struct ProvisioningRaceTests {
    @Test func `a thousand racing first sign-ins on one invite end in one user`() async throws {
        let scene = try await ProvisioningScene.make()
        try await scene.invite("ann@ex.com", role: "manager")
        let statuses = try await race(1000, atOnce: 12) { number in
            // Ten identities, each a hundred times.
            try await scene.google("\(number % 10)", "ann@ex.com")
        }
        #expect(statuses.filter { $0.status != 200 }.isEmpty)
        let winners = statuses.filter { $0.json["outcome"]?.string != "refused" }
        #expect(winners.count == 100)
        #expect(Set(winners.map(\.text)).count == 1)
        #expect(
            statuses.filter { $0.json["reason"]?.string == "identity_link_required" }.count == 900)
        #expect(try await scene.count("users") == 1)
        #expect(try await scene.count("users WHERE role = 'manager'") == 1)
        #expect(try await scene.count("identities") == 1)
        #expect(try await scene.count("invites WHERE status = 'accepted'") == 1)
        #expect(try await scene.count("audit_events WHERE action = 'invite.accepted'") == 1)
        await scene.service.stop()
    }

    private func race(
        _ count: Int, atOnce: Int,
        _ body: @escaping @Sendable (Int) async throws -> TestAnswer
    ) async throws -> [TestAnswer] {
        try await withThrowingTaskGroup(of: TestAnswer.self) { group in
            var answers: [TestAnswer] = []
            for number in 0..<count {
                if number >= atOnce, let answer = try await group.next() { answers.append(answer) }
                group.addTask { try await body(number) }
            }
            for try await answer in group { answers.append(answer) }
            return answers
        }
    }
}
