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
        answers: [.list(MergeRow.shape)], mayLag: true
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
        answers: [.created(MergeRow.shape), .ok(MergeRow.shape)],
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

    /// A merge makes the loser's sign-ins the winner's, so a caller covers the roles of both.
    private static func requireRoles(_ call: Call, _ winner: UserRow, _ loser: UserRow) throws {
        for user in [winner, loser] { try call.requireCover(of: user) }
    }

    @Sendable private static func exists(_ call: Call) async throws -> Bool {
        try await call.scope.merge(call.id()) != nil
    }

    private static let undo = Endpoint(
        .post, path + "/{id}/undo", id: "undoMerge", tag: "Users",
        summary:
            "Makes the two records of before; the last merge of a user first. What was made as "
            + "the winner since is `ended`; a sign-in or an address since is an `undo_conflict`.",
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
