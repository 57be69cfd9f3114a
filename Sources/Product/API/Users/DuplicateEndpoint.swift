import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/users/duplicates`: users who may be one person.
enum DuplicateEndpoint {
    static let all: [Endpoint] = [list]

    /// Users that are looked through for each item of a page.
    private static let usersOfItem = 10

    private static let list = Endpoint(
        .get, UserEndpoints.path + "/duplicates", id: "listDuplicates", tag: "Users",
        summary:
            "Pairs of users who may be one person, with the evidence. A page looks through ten "
            + "users for each item of `limit` and may hold no pair; `total` counts the pairs found "
            + "so far, and is exact on the last page.",
        access: .right(.readUsers),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]),
        answers: [.list(shape)], mayLag: true
    ) { call in
        var list = try call.listQuery()
        list.limit *= usersOfItem
        let before = list.total?.value ?? 0
        // The users themselves need no count.
        list.total = ListTotal(before, exact: false)
        let (pairs, page) = try await call.scope.duplicates(list)
        return call.list(
            pairs, next: page.next.map { Cursor(key: $0.value, id: $0.id) },
            total: Total(before + pairs.count, exact: page.next == nil)
        ) { pair, json in
            json.object {
                $0.member("users", [pair.first, pair.second])
                $0.member(
                    "evidence",
                    .array(
                        pair.evidence.map {
                            .object([
                                .init("kind", .string($0.kind.rawValue)),
                                .init("value", .string($0.value)),
                                .init("certainty", .string($0.certainty)),
                            ])
                        }))
            }
        }
    }

    private static let shape = ObjectShape(
        "Duplicate",
        [
            .readOnly("users", .array(of: .object(UserRow.shape), max: 2), "The two."),
            .readOnly(
                "evidence",
                .array(
                    of: .object(
                        ObjectShape([
                            .readOnly(
                                "kind", .enumeration(of: DuplicateEvidence.Kind.self),
                                "What both have."),
                            .readOnly(
                                "value", .string(), "The address, the subject or the external id."),
                            .readOnly(
                                "certainty", .enumeration(["likely", "maybe"]),
                                "`maybe`: two people may well have it."),
                        ]))), "Why they may be one person."),
        ])
}

extension DuplicateEvidence {
    fileprivate var certainty: String { kind == .spelling ? "maybe" : "likely" }
}
