import Domain
import HTTP
import JSON
import Storage
import Text

/// `…/actions`: one action on many users, invites or API keys.
package enum BulkEndpoints {
    package static let all: [Endpoint] = [users, invites, keys]

    static let kinds: [any JobKind] = [
        BulkJobs<UserAction>(name: "users_actions"),
        BulkJobs<InviteAction>(name: "invites_actions"),
        BulkJobs<APIKeyAction>(name: "api_keys_actions"),
    ]

    private static let users = Endpoint(
        .post, UserEndpoints.path + "/actions", id: "actOnUsers", tag: "Users",
        summary: "Performs an action on many users: up to 100 within the request, more as a job.",
        access: .anyOf([
            .suspendUsers, .resumeUsers, .deleteUsers, .approveUsers, .editUsers, .endSessions,
        ]),
        query: [.dryRun],
        body: .json(
            request(
                "UsersAction", UserAction.Verb.self, example: .setRole, UserFilter.parameters,
                [
                    reason,
                    .optional(
                        "role", .enumeration(of: UserRole.self), "The new role, for `set_role`."),
                ])),
        answers: answers(kinds[0].name), problems: problems, idempotent: true, time: time
    ) { call in
        let verb: UserAction.Verb = try call.input.case("action")
        let action = UserAction(
            verb, reason: call.input.optionalString("reason"),
            role: call.input.optionalCase("role"))
        var errors: [FieldError] = []
        if verb == .setRole, action.role == nil {
            errors.append(FieldError("/role", .required, "is required for `set_role`"))
        }
        if verb != .setRole, action.role != nil {
            errors.append(FieldError("/role", .notAllowed, "is only for `set_role`"))
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
        return try await BulkRequest(call, action, kind: kinds[0].name).answer { filter in
            try filter.check(UserFilter.parameters)
            let users = try await UserFilter(filter, call)
            return try await filter.ids { try await call.scope.users($0, users) }
        }
    }

    private static let invites = Endpoint(
        .post, "/v1/tenants/{tenant}/invites/actions", id: "actOnInvites", tag: "Invites",
        summary: "Performs an action on many invites: up to 100 within the request, more as a job.",
        access: .right(.manageInvites), query: [.dryRun],
        body: .json(
            request(
                "InvitesAction", InviteAction.Verb.self, example: .revoke, InviteFilter.parameters,
                [])),
        answers: answers(kinds[1].name), problems: problems, idempotent: true, time: time
    ) { call in
        let action = InviteAction(try call.input.case("action"))
        if action.verb == .resend, !call.application.sendsMail {
            throw Problem.invalid([
                FieldError(
                    "/action", .notAllowed,
                    "needs a mail server, because this action shows no links")
            ])
        }
        return try await BulkRequest(call, action, kind: kinds[1].name).answer { filter in
            try filter.check(InviteFilter.parameters)
            let invites = InviteFilter(filter)
            return try await filter.ids { try await call.scope.invites($0, invites) }
        }
    }

    private static let keys = Endpoint(
        .post, APIKeyCollection.tenant.path + "/actions", id: "actOnApiKeys", tag: "API keys",
        summary:
            "Performs an action on many API keys: up to 100 within the request, more as a job.",
        access: .own(.revokeKeys), query: [.dryRun],
        body: .json(
            request(
                "ApiKeysAction", APIKeyAction.Verb.self, example: .revoke, APIKeyFilter.parameters,
                [keyReason])),
        answers: answers(kinds[2].name), problems: problems, idempotent: true, time: time
    ) { call in
        let action = APIKeyAction(reason: call.input.optionalString("reason"))
        return try await BulkRequest(call, action, kind: kinds[2].name).answer { filter in
            guard let keys = try await APIKeyFilter(filter, call, .tenant) else {
                return []
            }
            return try await filter.ids { try await call.scope.apiKeys($0, keys) }
        }
    }

    private static let time: Duration = .seconds(30)
    private static let problems: [Code] = [.preconditionFailed, .rateLimited]

    private static func answers(_ kind: String) -> [Answer] {
        [.ok(BulkRequest<UserAction>.shape), .accepted.showing(["kind": .string(kind)])]
    }

    private static let reason = FieldShape.optional(
        "reason", .string(min: 1, max: 500, rule: .displayName),
        "The reason, for the audit log. With `revoke_keys`, the keys show it too; with `approve`, "
            + "the mail contains it.")
    private static let keyReason = FieldShape.optional(
        "reason", .string(min: 1, max: 500, rule: .displayName),
        "The reason, which the audit log and the list of keys show.")

    /// The shape of the member `action`.
    private static func action<Verb: RawRepresentable<String> & CaseIterable>(
        _ verbs: Verb.Type, _ example: Verb
    ) -> FieldShape {
        FieldShape(
            "action", .enumeration(of: verbs), required: true, "The action.",
            example: .string(example.rawValue))
    }

    /// The shape of a request. It must have either `ids` or a `filter`, so that a request with
    /// neither does not act on all objects.
    private static func request<Verb: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ verbs: Verb.Type, example: Verb, _ filters: [QueryParameter],
        _ more: [FieldShape]
    ) -> ObjectShape {
        func shape(_ name: String, _ which: FieldShape) -> ObjectShape {
            ObjectShape(
                name,
                [
                    action(verbs, example), which,
                    .optional(
                        "expected", .integer(0...Int.max),
                        "The number of objects that the caller expects. If the number differs, the "
                            + "response is 412."),
                ] + more)
        }
        return shape(
            name,
            .required(
                "ids", .array(of: .uuid, max: mostIDs),
                "The ids of the objects. The body has either `ids` or `filter`.")
        ).or(
            whenHas: "filter",
            shape(
                name + "ByFilter",
                .required(
                    "filter", .object(ListFilter.shape(filters)),
                    "Selects all objects that the list endpoint returns now with these filters.")))
    }

    private static let mostIDs = 10_000
}

/// One request for an action on many objects.
struct BulkRequest<Action: BulkAction> {
    private let call: Call
    private let action: Action
    /// The kind of the job that is created if there are many objects.
    private let kind: String

    /// The maximum number of objects that are handled in the request itself. For more objects, a
    /// job is created.
    private static var atOnce: Int { 100 }
    /// The maximum number of objects that a dry run examines. Each transaction examines `atOnce` of
    /// them.
    private static var looked: Int { 1000 }

    init(_ call: Call, _ action: Action, kind: String) {
        self.call = call
        self.action = action
        self.kind = kind
    }

    /// Answers the request. `find` returns the ids that a filter selects. It is called only once,
    /// so that the action applies to exactly the objects that were counted.
    func answer(_ find: (ListFilter) async throws -> [UUID]) async throws -> Response {
        try require()
        let ids = try await ids(find)
        if let expected = call.input.optionalInt("expected"), expected != ids.count {
            throw Problem(
                .preconditionFailed,
                "The number of objects for the action is now \(ids.count), not the expected "
                    + "\(expected).",
                members: [.init("count", .int(ids.count))])
        }
        if call.isDryRun { return try await lookedAt(ids) }
        if ids.count > Self.atOnce {
            try call.requireRecentSignIn(for: "An action on more than \(Self.atOnce)")
            return try await job(ids)
        }
        let results = try await call.making { change in
            try await act(on: ids[...], change)
        }
        return document(results, count: ids.count)
    }

    /// Throws 403 if the caller lacks the right. A caller who has the right only over its own
    /// objects passes here; each row is checked later.
    private func require() throws {
        let permission = Permissions.permits(
            call.principal.subject, action.right, in: try call.tenant.id,
            target: PermissionTarget(ownerID: call.principal.subject.selfID))
        guard permission == .allowed else {
            throw Problem.missing(action.right, permission)
        }
    }

    private func ids(_ find: (ListFilter) async throws -> [UUID]) async throws -> [UUID] {
        if let filter = call.input.optionalObject("filter") {
            return try await find(ListFilter(input: filter, pointer: "/filter/"))
        }
        var seen: Set<UUID> = []
        return (call.input.optionalStrings("ids") ?? []).compactMap { UUID($0) }
            .filter { seen.insert($0).inserted }
    }

    /// Returns the results in the order of the ids, but locks the rows in id order, so that two
    /// requests cannot deadlock.
    private func act(
        on ids: ArraySlice<UUID>, _ change: Change
    ) async throws -> [(id: UUID, result: JobResult)] {
        let place = BulkContext(
            change: change, principal: call.principal.subject, application: call.application,
            recent: { [call] in if !call.isDryRun { try call.requireRecentSignIn(for: $0) } })
        var results: [UUID: JobResult] = [:]
        for id in ids.sorted(by: { ($0.high, $0.low) < ($1.high, $1.low) }) {
            results[id] = try await change.result(ofRow: 0) {
                try await action.act(on: id, row: 0, at: place)
            }
            // Presence is proved once for the whole call. If the proof is missing, the whole call
            // fails.
            if let code = results[id]?.code, code == Code.stepUpRequired.rawValue {
                throw call.signInAgain("The action on one of these objects")
            }
        }
        return ids.compactMap { id in results[id].map { (id, $0) } }
    }

    private func lookedAt(_ ids: [UUID]) async throws -> Response {
        var results: [(id: UUID, result: JobResult)] = []
        let firsts = stride(from: 0, to: min(ids.count, Self.looked), by: Self.atOnce)
        try await call.takeDryRuns(Array(firsts).count)
        for first in firsts {
            let slice = ids[first..<min(first + Self.atOnce, ids.count)]
            results += try await call.scope.change(by: call.actor, dryRun: true) { change in
                try await act(on: slice, change)
            }
        }
        return document(results, count: ids.count)
    }

    private func job(_ ids: [UUID]) async throws -> Response {
        let job = try await call.making { change in
            let job = try await change.createJob(
                kind, action.parameters.value, total: ids.count, by: call.jobMaker)
            try await change.addRows(to: job.id, Action.target, ids)
            return job
        }
        return .accepted(job, call)
    }

    private func document(
        _ results: [(id: UUID, result: JobResult)], count: Int
    ) -> Response {
        let items = results.map { id, result in
            var members: [JSONValue.Member] = [
                .init("id", .uuid(id)), .init("status", .string(result.status.rawValue)),
            ]
            if let code = result.code { members.append(.init("code", .string(code))) }
            if let detail = result.detail { members.append(.init("detail", .string(detail))) }
            if let other = result.conflictingID {
                members.append(.init("conflicting_id", .uuid(other)))
            }
            return JSONValue.object(members)
        }
        return .ok(.object([.init("items", .array(items)), .init("count", .int(count))]))
    }

    static var shape: ObjectShape {
        ObjectShape(
            "BulkResult",
            [
                .readOnly(
                    "items",
                    .array(
                        of: .object(
                            ObjectShape([
                                .readOnly("id", .uuid, "The id of the object."),
                                .readOnly(
                                    "status", .enumeration(["done", "unchanged", "failed"]),
                                    "The result of the action, or of the dry run."),
                                .readOnly(
                                    "code", .string(), always: false,
                                    "The code of the failure; absent if the action did not fail."
                                ),
                                .readOnly(
                                    "detail", .string(), always: false,
                                    "Why the action failed, for people to read; absent if it did "
                                        + "not fail."),
                                .readOnly(
                                    "conflicting_id", .uuid, always: false,
                                    "The id of the object that is in conflict, or of the user who "
                                        + "remains after a merge; absent if there is none."),
                            ])), max: looked),
                    "One result for each object. A dry run returns the results of the first "
                        + "\(looked) objects."),
                .readOnly(
                    "count", .integer(0...Int.max),
                    "The number of objects that the action is for."),
            ])
    }
}

/// The parameters of a job.
struct JSONParameters: Sendable {
    private(set) var value: JSONValue

    init(_ value: JSONValue) { self.value = value }

    /// Members without a value are omitted.
    init(_ members: [(String, String?)]) {
        value = .object(
            members.compactMap { name, text in text.map { .init(name, .string($0)) } })
    }

    subscript(name: String) -> String? { value[name]?.string }
}
