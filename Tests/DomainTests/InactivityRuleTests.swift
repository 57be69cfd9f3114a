import Domain
import Testing
import Text

/// What a rule for inactivity asks for, to the microsecond.
struct InactivityRuleTests {
    private static let start = Timestamp(microseconds: 1_700_000_000_000_000)
    private static let rule = InactivityRule(warnDays: 30, suspendDays: 60, deleteDays: 90)

    /// Days after the start, and microseconds more.
    private static func at(_ days: Int64, _ microseconds: Int64 = 0) -> Timestamp {
        Timestamp(microseconds: start.microseconds + days * 86_400_000_000 + microseconds)
    }

    private static func step(
        _ facts: InactivityFacts, at now: Timestamp, since: Timestamp? = nil, mails: Bool = true,
        by rule: InactivityRule = rule
    ) -> InactivityRule.Step? {
        rule.step(for: facts, since: since, at: now, mails: mails)
    }

    @Test func `each step is due at the end of its days, and not a microsecond before`() {
        let active = InactivityFacts(activeAt: Self.start)
        #expect(Self.step(active, at: Self.at(30, -1)) == nil)
        #expect(Self.step(active, at: Self.at(30)) == .warn)
        let warned = InactivityFacts(
            activeAt: Self.start, warnedAt: Self.at(30), wasMailed: true)
        #expect(Self.step(warned, at: Self.at(60, -1)) == nil)
        #expect(Self.step(warned, at: Self.at(60)) == .suspend)
        let suspended = InactivityFacts(activeAt: Self.start, suspendedAt: Self.at(60))
        #expect(Self.step(suspended, at: Self.at(90, -1)) == nil)
        #expect(Self.step(suspended, at: Self.at(90)) == .delete)
    }

    @Test func `the time between two steps is kept, however late the first was`() {
        let warned = InactivityFacts(
            activeAt: Self.start, warnedAt: Self.at(200), wasMailed: true)
        #expect(Self.step(warned, at: Self.at(230, -1)) == nil)
        #expect(Self.step(warned, at: Self.at(230)) == .suspend)
        #expect(Self.step(InactivityFacts(activeAt: Self.start), at: Self.at(500)) == .warn)
        let suspended = InactivityFacts(activeAt: Self.start, suspendedAt: Self.at(200))
        #expect(Self.step(suspended, at: Self.at(230, -1)) == nil)
        #expect(Self.step(suspended, at: Self.at(230)) == .delete)
        let date = Self.rule.suspension(
            of: InactivityFacts(activeAt: Self.start), since: nil, warnedAt: Self.at(200))
        #expect(date == Self.at(230))
        let early = Self.rule.suspension(
            of: InactivityFacts(activeAt: Self.start), since: nil, warnedAt: Self.at(30))
        #expect(early == Self.at(60))
    }

    @Test func `the days begin with the publication if that is later than the last use`() {
        let active = InactivityFacts(activeAt: Self.start)
        #expect(Self.step(active, at: Self.at(40, -1), since: Self.at(10)) == nil)
        #expect(Self.step(active, at: Self.at(40), since: Self.at(10)) == .warn)
        let suspended = InactivityFacts(activeAt: Self.start, suspendedAt: Self.at(60))
        #expect(Self.step(suspended, at: Self.at(190, -1), since: Self.at(100)) == nil)
        #expect(Self.step(suspended, at: Self.at(190), since: Self.at(100)) == .delete)
    }

    @Test func `a warning counts once, and not for a later time without use`() {
        let warned = InactivityFacts(
            activeAt: Self.start, warnedAt: Self.at(30), wasMailed: true)
        #expect(Self.step(warned, at: Self.at(31)) == nil)
        let back = InactivityFacts(
            activeAt: Self.at(31), warnedAt: Self.at(30), wasMailed: true)
        #expect(Self.step(back, at: Self.at(61, -1)) == nil)
        #expect(Self.step(back, at: Self.at(61)) == .warn)
    }

    @Test func `a warning that could not be sent counts only while none can be`() {
        let noted = InactivityFacts(activeAt: Self.start, warnedAt: Self.at(30))
        #expect(Self.step(noted, at: Self.at(60), mails: false) == .suspend)
        #expect(Self.step(noted, at: Self.at(60), mails: true) == .warn)
        #expect(Self.step(noted, at: Self.at(31), mails: false) == nil)
    }

    @Test func `without days for a step that step is not taken`() {
        let active = InactivityFacts(activeAt: Self.start)
        let suspending = InactivityRule(suspendDays: 60)
        #expect(Self.step(active, at: Self.at(60, -1), by: suspending) == nil)
        #expect(Self.step(active, at: Self.at(60), by: suspending) == .suspend)
        let warning = InactivityRule(warnDays: 30)
        let warned = InactivityFacts(
            activeAt: Self.start, warnedAt: Self.at(30), wasMailed: true)
        #expect(Self.step(warned, at: Self.at(3000), by: warning) == nil)
        #expect(warning.suspension(of: active, since: nil, warnedAt: Self.at(30)) == nil)
        #expect(Self.step(active, at: Self.at(4000), by: InactivityRule()) == nil)
        let suspended = InactivityFacts(activeAt: Self.start, suspendedAt: Self.at(60))
        #expect(Self.step(suspended, at: Self.at(4000), by: suspending) == nil)
    }

    @Test func `days rise, and a deletion needs a suspension`() {
        func faults(_ warn: Int?, _ suspend: Int?, _ delete: Int?) -> [InactivityRule.Step] {
            InactivityRule(warnDays: warn, suspendDays: suspend, deleteDays: delete)
                .faults.map(\.step)
        }
        #expect(faults(30, 31, 32) == [] && faults(nil, nil, nil) == [])
        #expect(faults(30, nil, nil) == [] && faults(nil, 30, 31) == [])
        #expect(faults(30, 30, 31) == [.suspend])
        #expect(faults(30, 29, 29) == [.suspend, .delete])
        #expect(faults(nil, nil, 90) == [.delete] && faults(30, nil, 90) == [.delete])
    }
}
