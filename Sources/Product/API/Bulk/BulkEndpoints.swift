import Domain
import HTTP
import JSON
import Storage
import Text

/// `…/actions`: one action on many users, invites or keys.
enum BulkEndpoints {
    static let all: [Endpoint] = [users, invites, keys]

    static let kinds: [any JobKind] = [
        BulkJobs<UserAction>(name: "users_actions"),
        BulkJobs<InviteAction>(name: "invites_actions"),
        BulkJobs<APIKeyAction>(name: "api_keys_actions"),
    ]

    private static let users = Endpoint(
        .post, UserEndpoints.path + "/actions", id: "actOnUsers", tag: "Users",
        summary: "One action on many users: at once for 100, as a job for more.",
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
        answers: answers, problems: problems, idempotent: true, time: time
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
            errors.append(FieldError("/role", .notAllowed, "is for `set_role` alone"))
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
        summary: "One action on many invites: at once for 100, as a job for more.",
        access: .right(.manageInvites), query: [.dryRun],
        body: .json(
            request(
                "InvitesAction", InviteAction.Verb.self, example: .revoke, InviteFilter.parameters,
                [])),
        answers: answers, problems: problems, idempotent: true, time: time
    ) { call in
        let action = InviteAction(try call.input.case("action"))
        if action.verb == .resend, !call.services.sendsMail {
            throw Problem.invalid([
                FieldError("/action", .notAllowed, "needs a mail server: it shows no links")
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
        summary: "One action on many keys: at once for 100, as a job for more.",
        access: .own(.revokeKeys), query: [.dryRun],
        body: .json(
            request(
                "ApiKeysAction", APIKeyAction.Verb.self, example: .revoke, APIKeyFilter.parameters,
                [reason])),
        answers: answers, problems: problems, idempotent: true, time: time
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
    private static let answers: [Answer] = [
        .ok(BulkRequest<UserAction>.shape), Answer(202, .object(JobRow.shape)),
    ]
    private static let reason = FieldShape.optional(
        "reason", .string(min: 1, max: 500, rule: .displayName),
        "For the audit and the list; of an approval for the mail as well.")

    /// By `ids` or by `filter`, never both: neither is no wish for all.
    private static func action<Verb: RawRepresentable<String> & CaseIterable>(
        _ verbs: Verb.Type, _ example: Verb
    ) -> FieldShape {
        FieldShape(
            "action", .enumeration(of: verbs), required: true, "What is done to each.",
            example: .string(example.rawValue))
    }

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
                        "How many they are as shown: 412 if it is another number."),
                ] + more)
        }
        return shape(
            name, .required("ids", .array(of: .uuid, max: mostIDs), "These; or a `filter`.")
        ).or(
            whenHas: "filter",
            shape(
                name + "ByFilter",
                .required(
                    "filter", .object(ListFilter.shape(filters)),
                    "All that the list has with these filters, as it is now.")))
    }

    private static let mostIDs = 10_000
}
