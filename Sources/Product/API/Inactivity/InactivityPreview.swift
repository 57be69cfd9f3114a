import Domain
import JSON
import Storage
import Text

/// A preview of the users that an inactivity rule would apply to if it had long been in force. Each
/// user is counted once, for the latest step that is due. The rule's date of publication and the
/// requirement of an earlier warning are ignored.
struct InactivityPreview: Sendable {
    private struct Part: Sendable {
        var count = 0
        var ids: [UUID] = []
    }

    /// The number of ids that are shown for each step.
    private static let shown = 10
    /// The number of users that one statement reads.
    private static let page = 5000
    /// The maximum number of seconds for a preview: half of the request's time limit.
    private static let seconds: Int64 = 15

    private var parts: [InactivityRule.Step: Part] = [:]
    /// Whether the preview is incomplete, because some users were not examined.
    private var isCut = false

    /// Examines the tenant's users. Stops early when `seconds` have passed, or when so many users
    /// were found for every step that a list would no longer count them exactly.
    static func of(
        _ rule: InactivityRule, in scope: TenantScope
    ) async throws -> InactivityPreview {
        var preview = InactivityPreview()
        let now = scope.database.clock()
        let steps = InactivityRule.Step.allCases.filter { rule[$0] != nil }
        var cursor: UUID?
        while scope.database.clock() < now.adding(seconds: seconds) {
            let page = try await scope.inactiveUsers(
                after: cursor, limit: Self.page, activeUntil: rule.latest(at: now))
            for user in page.users {
                guard let step = rule.lastStep(after: user.facts.activeAt, at: now) else {
                    continue
                }
                // A suspended user can only be deleted, so no other step counts for it.
                if user.facts.suspendedAt != nil, step != .delete { continue }
                preview.add(user.id, to: step)
            }
            guard let end = page.end else { return preview }
            cursor = end
            if steps.allSatisfy({ preview.parts[$0, default: Part()].count > ListTotal.most }) {
                return preview
            }
        }
        preview.isCut = true
        return preview
    }

    private mutating func add(_ id: UUID, to step: InactivityRule.Step) {
        parts[step, default: Part()].count += 1
        if parts[step, default: Part()].ids.count < Self.shown {
            parts[step, default: Part()].ids.append(id)
        }
    }

    var json: JSONValue {
        .object(
            InactivityRule.Step.allCases.map { step in
                let part = parts[step, default: Part()]
                return .init(
                    step.rawValue,
                    .object([
                        .init("value", .int(min(part.count, ListTotal.most))),
                        .init("exact", .bool(part.count <= ListTotal.most && !isCut)),
                        .init("ids", .array(part.ids.map { .uuid($0) })),
                    ]))
            })
    }

    static let shape = ObjectShape(
        "InactivityPreview",
        InactivityRule.Step.allCases.map { step in
            .readOnly(
                step.rawValue,
                .object(
                    ObjectShape(
                        "InactivityCount",
                        [
                            .readOnly(
                                "value", .integer(0...Int.max),
                                "The number of users; at most 10,000 are counted."),
                            .readOnly(
                                "exact", .bool,
                                "Whether `value` is exact. If false, counting stopped early, and "
                                    + "there are at least this many users."),
                            .readOnly(
                                "ids", .array(of: .uuid, max: shown),
                                "The ids of some of these users, at most \(shown)."),
                        ])),
                "The users for whom this step would be due now. If several steps would be due for "
                    + "a user, the user is counted only at the last of them.")
        })
}
