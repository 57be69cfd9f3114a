import HTTP
import JSON
import Storage
import Text

/// What became of one user.
struct PersonResult: Sendable {
    let user: NamedUser
    let problem: Problem?

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("tenant", .string(user.tenantText)), .init("id", .uuid(user.id)),
            .init("result", .string(problem == nil ? "done" : "failed")),
        ]
        if let problem {
            members.append(.init("code", .string(problem.code.rawValue)))
            members.append(.init("detail", .string(problem.detail)))
            members += problem.members.filter { sameBytes($0.name, "conflicting_id") }
        }
        return .object(members)
    }

    static func document(
        _ action: PeopleAction, _ results: [PersonResult], _ more: [JSONValue.Member] = []
    ) -> JSONValue {
        .object(
            [
                .init("action", .string(action.rawValue)),
                .init("results", .array(results.map(\.json))),
            ] + more)
    }

    private static let shape = ObjectShape(
        "PersonResult",
        [
            .readOnly("tenant", .string(), "As the request has it."), .readOnly("id", .uuid),
            .readOnly("result", .enumeration(["done", "failed"])),
            .readOnly("code", .string(), always: false, "Why it failed."),
            .readOnly("detail", .string(), always: false, "The same for people."),
            .readOnly("conflicting_id", .uuid, always: false, "Who is left of a merge."),
        ])

    static let answer = ObjectShape(
        "PeopleResult",
        [
            .readOnly("action", .enumeration(of: PeopleAction.self)),
            .readOnly("results", .array(of: .object(shape))),
            .readOnly(
                "certificate", .string(max: 1 << 20), always: false,
                "Of an erasure: a JWS (ES256), signed with a key of `/.well-known/jwks.json`. It "
                    + "names what was removed in each tenant, and is not stored."),
            .readOnly("exported_at", .timestamp, always: false, "Of an export: when it was made."),
            .readOnly(
                "people", .array(of: .any), always: false,
                "Of an export: each user's rows, by table."),
            .readOnly(
                "platform", .any, always: false,
                "Of an export: what is held of no tenant, by table."),
        ])
}
