import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/users/merges`: merges two users who are the same person, and undoes
/// merges.
enum MergeEndpoints {
    static let all: [Endpoint] = [list, create, get, undo]

    private static let path = UserEndpoints.path + "/merges"

    private static let list = Endpoint(
        .get, path, id: "listMerges", tag: "Users", summary: "Lists the merges, newest first.",
        access: .right(.readUsers),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"])
            + [QueryParameter("user_id", .uuid, "Only merges whose `winner` is this user.")],
        answers: [.list(MergeRow.shape)], mayLag: true
    ) { call in
        let winner = try await call.survivor(of: call.query.optionalUUID("user_id"))
        return call.list(try await call.scope.merges(call.listQuery(), winner: winner))
    }

    private static let get = Endpoint(
        .get, path + "/{id}", id: "getMerge", tag: "Users", summary: "Returns one merge.",
        access: .right(.readUsers), answers: [.ok(MergeRow.shape)]
    ) { call in
        guard let row = try await call.scope.merge(call.id()) else {
            throw Problem.notFound("merge")
        }
        return .ok(row, etag: row.etag)
    }

    private static let creation = ObjectShape(
        "MergeCreation",
        [
            .required(
                "winner", .uuid,
                "The id of the user who remains, and who keeps the role, the name and the "
                    + "password."),
            FieldShape(
                "loser", .uuid, required: true,
                "The id of the user who is merged into the winner. The loser's keys and sign-ins "
                    + "move to the winner, except the sign-ins that `left_identities` counts. The "
                    + "loser is hidden.",
                example: .string("9c1d0e6f-4b7a-4e2d-8f3a-5b6c7d8e9f0a")),
        ])

    private static let create = Endpoint(
        .post, path, id: "mergeUsers", tag: "Users",
        summary: "Merges two users who are one person. The merge can be undone for 30 days.",
        access: .right(.linkIdentities), query: [.dryRun], body: .json(creation),
        answers: [
            .created(MergeRow.shape).showing(["ended": .some(.null)]),
            Answer(
                200, .object(MergeRow.shape),
                summary: "The answer of a dry run: what the merge would move."
            ).showing(["ended": .some(.null)]),
        ],
        problems: [.conflict, .rateLimited],
        idempotent: true
    ) { call in
        let (winner, loser) = (try call.input.uuid("winner"), try call.input.uuid("loser"))
        guard winner != loser else {
            throw Problem.invalid([FieldError("/loser", .invalid, "must be another user")])
        }
        for id in [winner, loser] {
            guard let into = try await call.scope.winner(over: id) else { continue }
            throw Problem.conflict("The user \(id) was merged.", with: into.description)
        }
        if call.isDryRun { try await call.takeDryRuns() }
        let row = try await call.scope.change(by: call.actor, dryRun: call.isDryRun) { change in
            try await change.mergeUsers(
                winner: winner, loser: loser, permit: { try requireRoles(call, $0, $1) })
        }
        if call.isDryRun { return .ok(row) }
        return .created(
            row, at: "/v1/tenants/\(try call.tenant.id)/users/merges/\(row.id)", etag: row.etag)
    }

    /// Throws 403 unless the caller has all rights of both users' roles, since the winner can sign
    /// in with the loser's identities after the merge.
    private static func requireRoles(_ call: Call, _ winner: UserRow, _ loser: UserRow) throws {
        for user in [winner, loser] { try call.requireCover(of: user) }
    }

    @Sendable private static func exists(_ call: Call) async throws -> Bool {
        try await call.scope.merge(call.id()) != nil
    }

    private static let undo = Endpoint(
        .post, path + "/{id}/undo", id: "undoMerge", tag: "Users",
        summary:
            "Undoes a merge and restores both users. A user's latest merge must be undone first. "
            + "The undo ends access that the winner was given after the merge, and `ended` lists "
            + "this access. If the winner got another identity or address after the merge, the "
            + "response can be 409 with `undo_conflict`.",
        access: .right(.linkIdentities),
        answers: [.ok(MergeRow.shape).showing(["status": .string("undone")])],
        problems: [.undoConflict, .conflict], idempotent: true, exists: exists
    ) { call in
        let id = try call.id()
        do {
            let row = try await call.scope.change(by: call.actor) { change in
                try await change.undoMerge(
                    id, permit: { try requireRoles(call, $0, $1) })
            }
            return .ok(row, etag: row.etag)
        } catch let conflict as UndoConflict {
            let reasons = conflict.reasons.map {
                JSONValue.object([
                    .init("pointer", .string($0.pointer)), .init("detail", .string($0.detail)),
                ])
            }
            throw Problem(
                .undoConflict, conflict.reasons[0].detail,
                members: [.init("conflicts", .array(reasons))])
        }
    }
}

extension MergeRow: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("winner", winner)
            $0.member("loser", loser)
            $0.member("status", status)
            $0.object("moved") {
                $0.member("identities", identities)
                $0.member("keys", keys.count)
                $0.member("invites", invites)
                $0.member("addresses", addresses + 1)
            }
            $0.member("left_identities", left)
            $0.member(
                "refused_scopes",
                .array(
                    keys.filter { !$0.refused.isEmpty }.map {
                        .object([
                            .init("key_id", .uuid($0.id)), .init("scopes", .strings($0.refused)),
                        ])
                    }))
            $0.member("ended", ended?.document ?? .null)
            $0.member("undo_until", undoUntil)
            $0.member("created_at", createdAt)
            $0.object("created_by") {
                $0.member("type", createdByType)
                $0.member("id", createdByID)
                $0.member("name", createdByName)
            }
        }
    }

    /// The entity tag of a merge. A merge changes only once, when it is undone.
    var etag: String { ETag.version(status == .done ? 1 : 2) }

    private static let count = Kind.integer(0...Int.max)

    private static let endedShape = ObjectShape(
        "EndedAccess",
        [
            .readOnly(
                "keys", .array(of: .uuid),
                "The ids of the keys that were revoked: those that anyone created or rotated since "
                    + "the merge, and those that were created with such a key."),
            .readOnly(
                "sessions", count,
                "The number of sessions of the winner, the user who remained, that ended."),
            .readOnly("link_grants", count, "The number of the winner's link grants that ended."),
            .readOnly(
                "password_links", count,
                "The number of the winner's password links that ended."),
            .readOnly(
                "email_change", .bool,
                "Whether the undo cancelled a change of the winner's address that was not yet "
                    + "confirmed."),
            .readOnly(
                "password", .bool,
                "Whether the undo removed the winner's password. It does so if the password was "
                    + "set after the merge. A winner who had a password before the merge can set "
                    + "a new one by a password reset."),
            .readOnly(
                "pin", .bool,
                "Whether the undo removed the winner's PIN. It does so if the PIN was set after "
                    + "the merge."),
        ])

    static let shape = ObjectShape(
        "Merge", versioned: true,
        [
            .readOnly("id", .uuid, "The merge's id."),
            .readOnly("winner", .uuid, "The id of the user who remains."),
            .readOnly(
                "loser", .uuid,
                "The id of the user who was merged into the winner. Until an undo, a GET request "
                    + "with this id returns the winner."),
            .readOnly(
                "status", .enumeration(of: MergeRow.Status.self),
                "`done`: the two users are merged. `undone`: the merge was undone, and both users "
                    + "exist again."),
            .readOnly(
                "moved",
                .object(
                    ObjectShape([
                        .readOnly("identities", count, "The number of identities."),
                        .readOnly("keys", count, "The number of API keys."),
                        .readOnly("invites", count, "The number of accepted invites."),
                        .readOnly(
                            "addresses", count,
                            "The number of the loser's addresses, including former addresses. "
                                + "After an undo, it is 1."),
                    ])), "The numbers of objects that moved from the loser to the winner."),
            .readOnly(
                "left_identities", count,
                "The number of the loser's identities that did not move: that of the password and, "
                    + "if the loser was `pending`, some without a verified email address. After an "
                    + "undo, it is 0."),
            .readOnly(
                "refused_scopes",
                .array(
                    of: .object(
                        ObjectShape([
                            .readOnly("key_id", .uuid, "The id of the key that moved."),
                            .readOnly(
                                "scopes", .array(of: .string()),
                                "The scopes that the key lost."),
                        ]))),
                "Scopes that keys lost when they moved, because the winner has another role."),
            .readOnly(
                "ended", .object(endedShape), nullable: true,
                "What the winner got after the merge and lost by the undo, for example keys and "
                    + "sessions; `null` before an undo."),
            .readOnly("undo_until", .timestamp, "Until when the merge can be undone."),
            .readOnly("created_at", .timestamp, "When the users were merged."),
            .readOnly(
                "created_by",
                .object(
                    ObjectShape(
                        "MergedBy",
                        [
                            .readOnly(
                                "type", .string(),
                                "The kind of caller who merged the users: `operator`, `user` or "
                                    + "`key` (an API key)."),
                            .readOnly("id", .string(), "The id of the operator, user or API key."),
                            .readOnly(
                                "name", .string(),
                                "The caller's name or email address at the time of the merge."),
                        ])), "Who made the merge."),
        ])
}

/// `/v1/tenants/{tenant}/users/duplicates`: pairs of users who may be the same person.
enum DuplicateEndpoint {
    static let all: [Endpoint] = [list]

    /// The number of users that are examined for each item of a page.
    private static let usersOfItem = 10

    private static let list = Endpoint(
        .get, UserEndpoints.path + "/duplicates", id: "listDuplicates", tag: "Users",
        summary:
            "Lists pairs of users who may be one person, with the evidence. A page examines ten "
            + "users for each item of `limit`, and may therefore be empty; `total` counts the "
            + "pairs found so far, and is exact on the last page.",
        access: .right(.readUsers),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]),
        answers: [.list(shape)], mayLag: true
    ) { call in
        var list = try call.listQuery()
        list.limit *= usersOfItem
        let before = list.total?.value ?? 0
        // The total is set here, so that the users are not counted.
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
            .readOnly("users", .array(of: .object(UserRow.shape), max: 2), "The two users."),
            .readOnly(
                "evidence",
                .array(
                    of: .object(
                        ObjectShape([
                            .readOnly(
                                "kind", .enumeration(of: DuplicateEvidence.Kind.self),
                                "What both users have in common."),
                            .readOnly(
                                "value", .string(),
                                "The address, the subject or the external id that both users "
                                    + "share."),
                            .readOnly(
                                "certainty", .enumeration(["likely", "maybe"]),
                                "How certain it is that both users are one person. `maybe`: it "
                                    + "is less certain, because two people can share the value."),
                        ]))), "Why the two users may be one person."),
        ])
}

extension DuplicateEvidence {
    fileprivate var certainty: String { kind == .spelling ? "maybe" : "likely" }
}

extension Endpoint {
    /// This endpoint with support for ids of merged users. For the id of a merged user, a read
    /// returns the winner, and a write is refused with 409 and the winner's id. The endpoint is
    /// slower only for ids that no user has.
    var followingMerges: Endpoint {
        var endpoint = self
        if method != .get, path.contains("/{id}"), !problems.contains(.conflict) {
            endpoint.problems.append(.conflict)
        }
        let (handle, exists) = (handle, exists)
        endpoint.handle = { call in
            do {
                return try await handle(call)
            } catch  where call.parameters["id"] != nil && isNotFound(error) {
                guard let winner = try await call.winner() else { throw error }
                guard [.get, .head].contains(call.request.method) else {
                    throw Problem.conflict(
                        "The user was merged; `conflicting_id` is the user who remains.",
                        with: winner.description)
                }
                var response = try await handle(call.replacingID(with: winner))
                response.fields.append(Field("content-location", try call.path(of: winner)))
                return response
            }
        }
        if let exists {
            endpoint.exists = { call in
                if try await exists(call) { return true }
                return call.parameters["id"] != nil ? try await call.winner() != nil : false
            }
        }
        return endpoint
    }
}

private func isNotFound(_ error: any Error) -> Bool {
    if case .notFound = StorageFailure(error) { return true }
    return (error as? Problem)?.code == .notFound
}

extension Call {
    /// The winner over the user whom the path names; `nil` if that user was not merged, or if the
    /// caller may not see the winner.
    fileprivate func winner() async throws -> UUID? {
        guard let winner = try await scope.winner(over: id()), sees(winner) else { return nil }
        return winner
    }

    fileprivate func replacingID(with id: UUID) -> Call {
        var call = self
        call.parameters = parameters.replacing("id", with: id.description)
        return call
    }

    /// The request's path with another user's id.
    fileprivate func path(of user: UUID) throws -> String {
        request.path.replacing(try parameter("id"), with: user.description)
    }

    /// The user whom an id in a body or a filter means now: the winner if the user was merged, else
    /// the user itself.
    func survivor(of id: UUID?) async throws -> UUID? {
        guard let id else { return nil }
        return try await scope.winner(over: id) ?? id
    }
}
