import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/operator-sign-in`: chooses one of the platform's providers, at which operators then sign in
/// to the console.
package enum OperatorSignInEndpoints {
    package static let all: [Endpoint] = [get, put, delete, unbind]

    private static let path = "/v1/operator-sign-in"

    private static let get = Endpoint(
        .get, path, id: "getOperatorSignIn", tag: "Operators",
        summary: "Returns the provider at which operators sign in; `null` if there is none.",
        access: .platform(.readOperators), answers: [.ok(OperatorSignIn.shape)]
    ) { call in
        let row = try await call.database.operatorSignIn()
        return .ok(OperatorSignInView(row: row), etag: row?.etag)
    }

    private static let put = Endpoint(
        .put, path, id: "putOperatorSignIn", tag: "Operators",
        summary:
            "Lets operators sign in at one of the platform's providers, which must be "
            + "authoritative for `domains`. With `required`, operators with a confirmed address in "
            + "these domains cannot sign in with a password. `required` can be switched on only "
            + "in a session in which the operator signed in at the provider.",
        access: .platform(.writeOperators), body: .json(OperatorSignIn.input),
        answers: [.ok(OperatorSignIn.shape)], problems: [.notFound, .conflict], ifMatch: .honoured
    ) { call in
        try OperatorsProvider.requireKeeper(call)
        let seen = try await provider(call)
        let isRequired = call.input.flag("required")
        let row = try await call.database.platformScope.change(by: call.actor) { change in
            // The provider stays locked until the setting is committed, so that it cannot be
            // changed or deleted meanwhile.
            let provider = try await change.lockProvider(seen.id)
            let domains = try domains(call, at: provider)
            let current = try await change.lockOperatorSignIn()
            if let current { try call.requireMatch(current.etag) }
            let isKept =
                current.map {
                    $0.isRequired && $0.provider == provider.id
                        && domains.allSatisfy($0.covers)
                } ?? false
            if isRequired, !isKept {
                guard let session = call.principal.session,
                    try await change.isSession(session, through: provider.id)
                else { throw notThrough(provider) }
            }
            return try await change.putOperatorSignIn(
                at: provider, domains: domains, isRequired: isRequired, over: current)
        }
        return .ok(OperatorSignInView(row: row), etag: row.etag)
    }

    private static let delete = Endpoint(
        .delete, path, id: "deleteOperatorSignIn", tag: "Operators",
        summary:
            "Ends the sign-in of operators at the provider. If `required` was set, their passwords "
            + "work again. The server still stores which account at the provider each operator has.",
        access: .platform(.writeOperators), answers: [.noContent], ifMatch: .honoured
    ) { call in
        try OperatorsProvider.requireKeeper(call)
        try await call.database.platformScope.change(by: call.actor) { change in
            guard let row = try await change.lockOperatorSignIn() else { return }
            try call.requireMatch(row.etag)
            try await change.deleteOperatorSignIn(row)
        }
        return .noContent
    }

    private static let unbind = Endpoint(
        .delete, "/v1/operators/{id}/provider", id: "unbindOperator", tag: "Operators",
        summary:
            "Unbinds the operator from an account at the provider, for example because the account "
            + "was deleted and created again. When the operator next signs in at the "
            + "provider, the account used then is bound. The operator's sessions end.",
        access: .right(.writeOperators), answers: [.noContent], problems: [.notFound],
        ifMatch: .honoured, exists: OperatorEndpoints.isVisible
    ) { call in
        _ = try await OperatorEndpoints.locked(call) { change, row, _ in
            guard try await change.unbind(row) else {
                throw Problem(
                    .notFound, "The operator is bound to no account at the provider.")
            }
            return row
        }
        return .noContent
    }

    private static func notThrough(_ provider: ProviderRow) -> Problem {
        Problem(
            .conflict,
            "Sign in at \(provider.name) first: `required` can be set only in a session that was "
                + "signed in through it.", status: 409)
    }

    private static func provider(_ call: Call) async throws -> ProviderRow {
        let id = try call.input.uuid("provider")
        guard let row = try await call.database.provider(id, owner: nil) else {
            throw Problem.notFound("provider")
        }
        guard
            try await call.database.signInProviders(near: .platform).contains(where: { $0.id == id }
            )
        else {
            throw fault(
                "provider",
                "must be a provider of the platform at which browsers sign in, with a client id")
        }
        return row
    }

    private static func domains(_ call: Call, at provider: ProviderRow) throws -> [String] {
        var found: [String] = []
        if try call.input.strings("domains").isEmpty {
            throw fault("domains", "must name a domain")
        }
        for (index, text) in try call.input.strings("domains").enumerated() {
            guard let domain = try? DomainName(text).ascii else { throw Problem.internalError }
            guard provider.isAuthoritative(for: domain) else {
                throw fault(
                    "domains/\(index)",
                    "must be a domain for which \(provider.name) is authoritative: add it to the "
                        + "provider's domains, with email_trust authoritative")
            }
            if !found.contains(where: { sameBytes($0, domain) }) { found.append(domain) }
        }
        return found
    }

    private static func fault(_ field: String, _ detail: String) -> Problem {
        .invalid([FieldError("/\(field)", .invalid, detail)])
    }
}

/// The setting as `/v1` shows it. `row` is `nil` if no provider is set for operators.
private struct OperatorSignInView: JSONView {
    var row: OperatorSignIn?

    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("provider", row?.provider)
            $0.member("domains", row?.domains ?? [])
            $0.member("required", row?.isRequired ?? false)
            $0.member("created_at", row?.createdAt)
            $0.member("updated_at", row?.updatedAt)
        }
    }
}

extension OperatorSignIn {
    var etag: String { ETag.version(version) }

    private static let settings = [
        FieldShape(
            "provider", .uuid, nullable: true,
            "The id of a provider of the platform; `null` if operators do not sign in at one."),
        FieldShape(
            "domains", .array(of: .string(min: 1, max: 255, rule: .domain), max: 100),
            "Email domains for which the provider is authoritative. At the first sign-in at the "
                + "provider, an operator with a confirmed address in one of these domains is found "
                + "by the address."),
        .optional(
            "required", .bool,
            "Whether operators with a confirmed address in `domains` can no longer sign in with a "
                + "password. Passkeys still work."),
    ]

    static let shape = ObjectShape(
        "OperatorSignIn", versioned: true,
        settings + [
            .readOnly(
                "created_at", .timestamp, nullable: true,
                "When the setting was created; `null` if no provider is set."),
            .readOnly(
                "updated_at", .timestamp, nullable: true,
                "When the setting was last changed; `null` if no provider is set."),
        ])

    static let input = shape.creating("OperatorSignInInput", required: ["provider", "domains"])
}
