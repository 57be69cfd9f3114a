import Domain
import HTTP
import Storage
import Text

/// `…/decisions/{id}/resolve`: decides the owner of an account with an unproved address.
enum ResolveEndpoint {
    static let all: [Endpoint] = [resolve]

    private static let actions = ["open_another", "give_account"]

    private static let resolve = Endpoint(
        .post, "/v1/tenants/{tenant}/provisioning/decisions/{id}/resolve", id: "resolveDecision",
        tag: "Provisioning",
        summary: "Of a sign-in that was refused because the account's address was never proved: "
            + "gives the account to that person, or the account another address. The decision, "
            + "with the user as it is now.",
        access: .right(.linkIdentities),
        body: .json(
            ObjectShape(
                "DecisionResolution",
                [
                    .required("action", .enumeration(actions)),
                    .nullable("email", .email, "With `open_another`: the account's new address."),
                ])),
        answers: [
            .ok(
                DecisionRow.shape.adding(
                    "ResolvedDecision", [.readOnly("user", .object(UserRow.shape))]))
        ],
        problems: [.conflict, .emailTaken], idempotent: true, exists: exists
    ) { call in
        let (id, resolution) = (try call.id(), try resolution(call))
        let database = try call.services.database
        let resolved = try await call.scope.change(by: call.actor) { change in
            let resolved = try await change.resolve(
                id, resolution, isAssertedByTenant: !call.principal.platform, in: database)
            try call.requireCover(of: resolved.user)
            if call.services.sendsMail { try await tell(resolved, change, database, call) }
            return resolved
        }
        return .ok(
            .written { json in
                json.object {
                    resolved.decision.members(to: &$0)
                    $0.member("user", resolved.user)
                }
            }, etag: ETag.version(1))
    }

    /// 404 for a caller who sees only their own decisions.
    @Sendable private static func exists(_ call: Call) async throws -> Bool {
        guard call.bound(.readDecisions) == nil else { return false }
        return try await call.services.database.decision(call.id(), tenant: call.tenant.id) != nil
    }

    private static func resolution(_ call: Call) throws -> Resolution {
        let email = call.input.optionalString("email")
        guard try call.input.string("action") == "open_another" else {
            guard email == nil else {
                throw Problem.invalid([
                    FieldError("/email", .notAllowed, "goes with open_another alone")
                ])
            }
            return .giveAccount
        }
        guard let address = email.flatMap({ try? EmailAddress($0) }) else {
            throw Problem.invalid([
                FieldError(
                    "/email", email == nil ? .required : .invalid,
                    "must be the account's new email address")
            ])
        }
        return .openAnother(address)
    }

    private static func tell(
        _ resolved: ResolvedDecision, _ change: Change, _ database: Database, _ call: Call
    ) async throws {
        for address in resolved.recipients {
            // With a random object each: a later mail about one object replaces the earlier.
            try await change.post(
                OutgoingMail(
                    .accountGiven, to: address, tenantName: try await change.tenantName(),
                    link: call.services.publicURL,
                    expiresAt: call.now.adding(seconds: TokenSignIn.noticeSeconds)),
                about: UUID.random(), of: [resolved.user.id], in: database)
        }
    }
}
