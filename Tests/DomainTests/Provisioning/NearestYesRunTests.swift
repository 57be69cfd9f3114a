import Testing
import Text

@testable import Domain

/// How often the rules are asked for what would admit.
struct NearestYesRunTests {
    @Test func `the rules are asked for one attempt twelve times at most`() {
        var fixture = RuleFixture()
        for number: UInt64 in 1...20 {
            fixture = fixture.tenant(UUID(high: 1, low: number)) {
                $0.user = RuleFixture.user(.suspended, id: UUID(high: 2, low: number))
            }
        }
        #expect(fixture.answer == "refused user_suspended")
        let told = Provisioning.wouldAdmit(
            fixture.attempt, facts: fixture.facts, refused: .userSuspended, now: RuleFixture.now)
        // Of each tenant two changes are tried, and resuming alone admits.
        #expect(told.count == 6)
        #expect(told.allSatisfy { $0.change == .resumeUser })
    }
}
