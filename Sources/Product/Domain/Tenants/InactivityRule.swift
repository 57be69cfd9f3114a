import Text

/// The steps that a tenant takes against unused accounts, each after a number of days without use.
/// A step whose days are nil is not taken.
package struct InactivityRule: Sendable, Equatable {
    /// A step that is taken against a user; raw values are those of the wire format.
    package enum Step: String, Sendable, CaseIterable { case warn, suspend, delete }

    /// The allowed number of days for each step.
    package static let days = 30...3650

    var warnDays: Int?
    var suspendDays: Int?
    var deleteDays: Int?

    package init(warnDays: Int? = nil, suspendDays: Int? = nil, deleteDays: Int? = nil) {
        self.warnDays = warnDays
        self.suspendDays = suspendDays
        self.deleteDays = deleteDays
    }

    package var isOff: Bool { self == InactivityRule() }

    /// The days without use after which the step is taken; `nil` if it is not taken.
    package subscript(step: Step) -> Int? {
        switch step {
        case .warn: warnDays
        case .suspend: suspendDays
        case .delete: deleteDays
        }
    }

    /// The steps whose days are not valid together, each with the reason. The days must increase
    /// from step to step, and a deletion requires a suspension.
    package var faults: [(step: Step, detail: String)] {
        var found: [(Step, String)] = []
        if let warnDays, let suspendDays, suspendDays <= warnDays {
            found.append((.suspend, "must be more than `warn_days`"))
        }
        if let deleteDays {
            if let suspendDays {
                if deleteDays <= suspendDays {
                    found.append((.delete, "must be more than `suspend_days`"))
                }
            } else {
                found.append((.delete, "needs `suspend_days`"))
            }
        }
        return found
    }

    /// The days without use before the first step; `nil` if there is no step.
    package var leastDays: Int? { warnDays ?? suspendDays }

    /// Returns the step that is due for the user at this time; `nil` if none is. `since` is when
    /// the rule came into force; nil if it was always in force. `mails` says whether the server can
    /// mail a warning.
    package func step(
        for user: InactivityFacts, since: Timestamp?, at now: Timestamp, mails: Bool
    ) -> Step? {
        let start = since.map { max($0, user.activeAt) } ?? user.activeAt
        if let suspendedAt = user.suspendedAt {
            return isPast(deleteDays, after: start, at: now)
                && isPast(gap(.suspend, .delete), after: suspendedAt, at: now) ? .delete : nil
        }
        // A warning counts only if the user was not active after it.
        let warnedAt = user.warnedAt.flatMap { $0 >= start ? $0 : nil }
        let isWarned = warnedAt != nil && (user.wasMailed || !mails)
        if isPast(suspendDays, after: start, at: now) {
            if warnDays == nil { return .suspend }
            if isWarned, let warnedAt, isPast(gap(.warn, .suspend), after: warnedAt, at: now) {
                return .suspend
            }
        }
        return !isWarned && isPast(warnDays, after: start, at: now) ? .warn : nil
    }

    /// Returns the last step whose days are over, even if earlier steps were not taken.
    package func lastStep(after activeAt: Timestamp, at now: Timestamp) -> Step? {
        Step.allCases.last { isPast(self[$0], after: activeAt, at: now) }
    }

    /// Returns the earliest time at which a user who is warned now is suspended; `nil` if the rule
    /// suspends no one.
    package func suspension(
        of user: InactivityFacts, since: Timestamp?, warnedAt now: Timestamp
    ) -> Timestamp? {
        guard let suspendDays, let gap = gap(.warn, .suspend) else { return nil }
        let start = since.map { max($0, user.activeAt) } ?? user.activeAt
        return max(Self.end(suspendDays, after: start), Self.end(gap, after: now))
    }

    private func gap(_ first: Step, _ second: Step) -> Int? {
        guard let start = self[first], let end = self[second] else { return nil }
        return end - start
    }

    private func isPast(_ days: Int?, after start: Timestamp, at now: Timestamp) -> Bool {
        days.map { now >= Self.end($0, after: start) } ?? false
    }

    private static func end(_ days: Int, after start: Timestamp) -> Timestamp {
        start.adding(seconds: Int64(days) * 86_400)
    }
}

/// What the rule reads about a user who is active, or whom the rule has suspended.
package struct InactivityFacts: Sendable, Equatable {
    /// When the user was last active: the latest of the user's creation, last sign-in, last use of
    /// a session or of a key that the user owns, and the end of the last suspension.
    package var activeAt: Timestamp
    /// When the user was last warned; `nil` if never.
    var warnedAt: Timestamp?
    /// Whether the last warning could be mailed.
    var wasMailed = false
    /// When the inactivity rule suspended the user; `nil` if the user is active.
    package var suspendedAt: Timestamp?

    package init(
        activeAt: Timestamp, warnedAt: Timestamp? = nil, wasMailed: Bool = false,
        suspendedAt: Timestamp? = nil
    ) {
        self.activeAt = activeAt
        self.warnedAt = warnedAt
        self.wasMailed = wasMailed
        self.suspendedAt = suspendedAt
    }
}
