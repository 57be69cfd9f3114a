import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/users/merges`: two records of one person become one, and two again.
enum MergeEndpoints {
    static let all: [Endpoint] = [list, create, get, undo]

    private static let path = UserEndpoints.path + "/merges"

    private static let list = Endpoint(
        .get, path, id: "listMerges", tag: "Users", summary: "The merges, newest first.",
        access: .right(.readUsers),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"])
            + [QueryParameter("user_id", .uuid, "Only those of which this user is the winner.")],
        answers: [.list(MergeRow.shape)]
    ) { call in
        let winner = try await call.survivor(of: call.query.optionalUUID("user_id"))
        return call.list(try await call.scope.merges(call.listQuery(), winner: winner))
    }

    private static let get = Endpoint(
        .get, path + "/{id}", id: "getMerge", tag: "Users", summary: "One merge.",
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
            .required("winner", .uuid, "The user who stays, with role, name and password."),
            FieldShape(
                "loser", .uuid, required: true,
                "The user whose sign-ins and keys move; it is hidden.",
                example: .string("9c1d0e6f-4b7a-4e2d-8f3a-5b6c7d8e9f0a")),
        ])

    private static let create = Endpoint(
        .post, path, id: "mergeUsers", tag: "Users",
        summary: "Makes two records of one person one; it can be undone for 30 days.",
        access: .right(.linkIdentities), query: [.dryRun], body: .json(creation),
        answers: [.created(MergeRow.shape), .ok(MergeRow.shape)], problems: [.conflict],
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
        let database = try call.services.database
        do {
            let row = try await call.scope.change(by: call.actor) { change in
                let row = try await change.mergeUsers(
                    winner: winner, loser: loser, in: database,
                    permit: { try requireRoles(call, $0, $1) })
                if call.isDryRun { throw DryRun(row: row) }
                return row
            }
            return .created(
                row, at: "/v1/tenants/\(try call.tenant.id)/users/merges/\(row.id)", etag: row.etag)
        } catch let end as DryRun {
            return .ok(end.row)
        }
    }

    /// Thrown to roll a transaction back.
    private struct DryRun: Error { var row: MergeRow }

    /// A merge makes the loser's sign-ins the winner's, so no caller merges above their own role.
    private static func requireRoles(_ call: Call, _ winner: UserRow, _ loser: UserRow) throws {
        for user in [winner, loser] { try UserIdentityEndpoints.requireRole(call, of: user) }
    }

    @Sendable private static func exists(_ call: Call) async throws -> Bool {
        try await call.scope.merge(call.id()) != nil
    }

    private static let undo = Endpoint(
        .post, path + "/{id}/undo", id: "undoMerge", tag: "Users",
        summary: "Makes the two records of before; the last merge of a user first.",
        access: .right(.linkIdentities), answers: [.ok(MergeRow.shape)],
        problems: [.undoConflict, .conflict], idempotent: true, exists: exists
    ) { call in
        let id = try call.id()
        let database = try call.services.database
        do {
            let row = try await call.scope.change(by: call.actor) { change in
                try await change.undoMerge(
                    id, in: database, permit: { try requireRoles(call, $0, $1) })
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
            $0.member("undo_until", undoUntil)
            $0.member("created_at", createdAt)
            $0.object("created_by") {
                $0.member("type", createdByType)
                $0.member("id", createdByID)
                $0.member("name", createdByName)
            }
        }
    }

    /// A merge changes once, when it is undone.
    var etag: String { ETag.version(status == .done ? 1 : 2) }

    private static let count = Kind.integer(0...Int.max)

    static let shape = ObjectShape(
        "Merge",
        [
            .readOnly("id", .uuid), .readOnly("winner", .uuid, "The user who stays."),
            .readOnly("loser", .uuid, "The user whose id is read as the winner's."),
            .readOnly("status", .enumeration(of: MergeRow.Status.self)),
            .readOnly(
                "moved",
                .object(
                    ObjectShape([
                        .readOnly("identities", count, "Sign-ins."),
                        .readOnly("keys", count, "API keys."),
                        .readOnly("invites", count, "Accepted invites."),
                        .readOnly("addresses", count, "The loser's address and former ones."),
                    ])), "How much is the winner's now."),
            .readOnly(
                "left_identities", count,
                "Sign-ins that did not move: a password, and what was never proved."),
            .readOnly(
                "refused_scopes",
                .array(
                    of: .object(
                        ObjectShape([
                            .readOnly("key_id", .uuid, "A key that moved."),
                            .readOnly("scopes", .array(of: .string()), "What it lost."),
                        ]))), "Scopes that moved keys lost, as the winner's role is another."),
            .readOnly("undo_until", .timestamp, "Until then it can be undone."),
            .readOnly("created_at", .timestamp),
            .readOnly(
                "created_by",
                .object(
                    ObjectShape(
                        "MergedBy",
                        [
                            .readOnly("type", .string()), .readOnly("id", .string()),
                            .readOnly("name", .string()),
                        ])), "Who merged them."),
        ])
}
