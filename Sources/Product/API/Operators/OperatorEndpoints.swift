import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/operators`: the console's operators. An owner of a single tenant sees only that tenant's
/// operators.
package enum OperatorEndpoints {
    package static let all: [Endpoint] = [
        list, create, get, update, delete, OperatorLinkEndpoint.remake, OwnLinkEndpoint.mail,
    ]

    /// The duration for which a sign-in link is valid, in seconds: one day.
    static let linkSeconds: Int64 = 86_400

    /// The duration for which a link that this caller creates is valid, in seconds. It is shorter
    /// than a day if the calling key expires earlier.
    static func linkSeconds(_ call: Call) -> Int64 {
        let end = call.principal.subject.cut(call.now.adding(seconds: linkSeconds))
        return max(0, (end.microseconds - call.now.microseconds) / 1_000_000)
    }

    private static let list = Endpoint(
        .get, "/v1/operators", id: "listOperators", tag: "Operators",
        summary:
            "Lists operators, newest first. A tenant's credential gets only the operators of its "
            + "tenant.",
        access: .right(.readOperators),
        query: QueryParameter.list(
            sorts: ["-created_at", "created_at"],
            search: "Only operators whose email address and name together contain each of these "
                + "words, in any case and order."),
        answers: [.list(OperatorRow.shape)]
    ) { call in
        let list = try call.listQuery()
        let scope = call.principal.tenant
        let text = call.query.optionalString("q")
        return call.list(try await call.database.operators(list, scope: scope, matching: text))
    }

    private static let create = Endpoint(
        .post, "/v1/operators", id: "createOperator", tag: "Operators",
        summary:
            "Creates an operator and mails a sign-in link, which works once, within a day. Without "
            + "a mail server, or if `delivery` is `link`, `sign_in_url` returns the link "
            + "instead.",
        access: .right(.writeOperators),
        body: .json(creation),
        answers: [
            .created(
                OperatorRow.shape.adding(
                    "OperatorCreated",
                    [
                        .readOnly(
                            "sign_in_url", .string(max: 2048), nullable: true,
                            "The sign-in link, shown only once; `null` if it was mailed.")
                    ]))
        ], problems: [.emailTaken, .notFound, .rateLimited], secret: true
    ) { call in
        let address = try call.input.emailAddress("email")
        let role: Operator.Role = try call.input.case("role")
        let tenant = try await scope(call)
        try requireGrant(call, role, in: tenant)
        let token = TokenSecret.make()
        guard let hash = TokenSecret.hash(token) else { throw Problem.internalError }
        if let fault = InviteAsking.deliveryFault(call.input, call.application) {
            throw Problem.invalid([fault])
        }
        let isMailed = InviteAsking.delivery(call.input, call.application) == .mail
        let url = "\(call.application.publicURL)/console/sign-in#token=\(token)"
        let row = try await call.making(in: call.database.scope(tenant ?? .platform)) { change in
            if isMailed {
                try change.checkMail(left: try await change.mailsLeft(.operatorLink))
            }
            guard
                var row = try await change.insertOperator(
                    email: address.original, emailKey: address.key,
                    name: call.input.optionalString("name"), role: role, tenant: tenant,
                    passwordHash: nil, isConfirmed: call.principal.platform)
            else {
                throw Problem(
                    .emailTaken, "An operator with this address already exists.", status: 409)
            }
            if tenant != nil { row.tenantName = try await change.tenantName() }
            try await change.addOperatorLink(
                hash, for: row.id, seconds: linkSeconds(call), isMailed: isMailed)
            if isMailed {
                let mail = OutgoingMail(
                    .operatorLink, to: row.email, tenantName: row.tenantName, link: url,
                    expiresAt: change.now.adding(seconds: linkSeconds(call)))
                try await change.post(mail, about: row.id)
            }
            return row
        }
        var members = row.json.members ?? []
        members.append(.init("sign_in_url", isMailed ? .null : .string(url)))
        return .created(.object(members), at: "/v1/operators/\(row.id)", etag: row.etag)
    }

    private static let creation: ObjectShape = {
        var shape = OperatorRow.shape.creating("OperatorCreation", required: ["email", "role"])
        shape.fields.removeAll { sameBytes($0.name, "scope") }
        shape.fields += [
            scopeField,
            .optional(
                "delivery", .enumeration(of: Invite.Delivery.self),
                "`mail`: the operator gets the sign-in link by mail. `link`: the response "
                    + "shows it once, and you hand it over. A request without it means `mail`, "
                    + "or `link` if the server has no mail server."),
        ]
        return shape
    }()

    private static let scopeField = FieldShape(
        "scope",
        .object(
            ObjectShape(
                "OperatorScopeInput",
                [
                    .optional(
                        "tenant", .string(min: 1, max: 63),
                        "A single tenant, by id or slug."),
                    .optional("platform", .bool, "`true` for every tenant and the platform."),
                    .nullable(
                        "tenant_id", .uuid,
                        "The id of a single tenant, as in the `scope` of an operator object; "
                            + "`null` for the platform."),
                ])), required: true,
        "Where the operator may act: exactly one of `tenant`, `platform` and `tenant_id`.",
        example: .object([.init("tenant", .string("acme"))]))

    private static let get = Endpoint(
        .get, "/v1/operators/{id}", id: "getOperator", tag: "Operators",
        summary: "Returns one operator.",
        access: .right(.readOperators), answers: [.ok(OperatorRow.shape)]
    ) { call in
        let row = try await visible(call)
        return .ok(row, etag: row.etag)
    }

    private static let change: ObjectShape = {
        var shape = OperatorRow.shape.patching("OperatorChange")
        for index in shape.fields.indices {
            switch shape.fields[index].name {
            case "email", "scope": shape.fields[index].isReadOnly = true
            case "status": shape.fields[index].isReadOnly = false
            default: break
            }
        }
        return shape
    }()

    private static let update = Endpoint(
        .patch, "/v1/operators/{id}", id: "updateOperator", tag: "Operators",
        summary: "Changes an operator's name, role or status. A suspension ends the operator's "
            + "sessions at once.",
        access: .right(.writeOperators), body: .json(change), answers: [.ok(OperatorRow.shape)],
        problems: [.conflict], ifMatch: .honoured, exists: isVisible
    ) { call in
        let row = try await locked(call) { change, row, others in
            try call.input.checkRepeated(against: row.json)
            let next = OperatorChange(
                name: call.input.has("name") ? call.input.optionalString("name") : row.name,
                role: call.input.optionalCase("role") ?? row.role,
                status: try status(row, call))
            let asked: Operator.Status? = call.input.optionalCase("status")
            guard asked != .pending || row.status == .pending else {
                throw Problem.invalid([
                    FieldError("/status", .notAllowed, "must be active or suspended")
                ])
            }
            try requireGrant(call, next.role, in: row.tenant)
            let staysOwner = next.role == .owner && next.status != .suspended
            try keepLastOwner(row, others, becoming: staysOwner ? .owner : nil)
            var changed = try await change.updateOperator(row, to: next)
            changed.tenantName = row.tenantName
            return changed
        }
        return .ok(row, etag: row.etag)
    }

    /// The status after the change that the body requests. An operator becomes active only by
    /// signing in. If the body ends the suspension of an operator who has never signed in, the
    /// status becomes pending.
    private static func status(_ row: OperatorRow, _ call: Call) throws -> Operator.Status {
        let asked = call.input.optionalCase("status") ?? row.status
        guard asked == .active, row.lastSignInAt == nil, row.status != .active else { return asked }
        guard row.status == .suspended else {
            throw Problem(.conflict, "The operator becomes active by signing in.", status: 409)
        }
        return .pending
    }

    private static let delete = Endpoint(
        .delete, "/v1/operators/{id}", id: "deleteOperator", tag: "Operators",
        summary: "Removes an operator and ends the operator's sessions. The last owner cannot be "
            + "removed.",
        access: .right(.writeOperators), answers: [.noContent], problems: [.conflict],
        ifMatch: .honoured, exists: isVisible
    ) { call in
        _ = try await locked(call) { change, row, others in
            try keepLastOwner(row, others, becoming: nil)
            try await change.deleteOperator(row)
            return row
        }
        return .noContent
    }

    /// Runs `body` while the operator and all owners of the operator's scope are locked. `others`
    /// is 1 if the scope has another active owner who has signed in, otherwise 0.
    static func locked(
        _ call: Call,
        _ body: @Sendable (Change, OperatorRow, _ others: Int) async throws -> OperatorRow
    ) async throws -> OperatorRow {
        let seen = try await visible(call)
        let scope = call.database.scope(seen.tenant ?? .platform)
        return try await call.making(in: scope) { change in
            guard
                case (var row, let others)? = try await change.lockOperator(
                    seen.id, scope: seen.tenant)
            else { throw Problem.notFound("operator") }
            row.tenantName = seen.tenantName
            try call.requireMatch(row.etag)
            try requireGrant(
                call, row.role, in: row.tenant,
                "The credential may not act on an operator who has more rights than it has "
                    + "itself.")
            return try await body(change, row, others)
        }
    }

    private static func keepLastOwner(
        _ row: OperatorRow, _ others: Int, becoming next: Operator.Role?
    ) throws {
        guard row.role == .owner, row.status == .active else { return }
        guard Operator.mayLeave(.owner, becoming: next, owners: others + 1) else {
            throw Problem(
                .conflict,
                "The last owner must stay an active owner; first make another operator an owner, "
                    + "who must also have signed in.")
        }
    }

    /// Throws 403 unless the caller may give this role to an operator and take it away. `detail` is
    /// the error's text, unless a bound of the calling key is the reason.
    private static func requireGrant(
        _ call: Call, _ role: Operator.Role, in tenant: UUID?,
        _ detail: String = "The credential cannot grant more rights than it has itself."
    ) throws {
        let subject = call.principal.subject
        guard !Permissions.mayGrant(subject, role, in: tenant) else { return }
        guard case .key(_, _, _, let limits) = subject, limits.isBound,
            role == .owner || role == .admin
        else { throw Problem.forbidden(detail) }
        throw Problem.forbidden(
            "A key bound by allowed_ips, allowed_origins or rate_limit cannot give the role owner "
                + "or admin, nor act on an operator who has it.")
    }

    /// The operator that the path names. Throws 404 if it is outside the caller's scope.
    private static func visible(_ call: Call) async throws -> OperatorRow {
        guard let row = try await call.database.operatorRow(call.id()),
            call.principal.platform || row.tenant == call.principal.tenant
        else { throw Problem.notFound("operator") }
        return row
    }

    @Sendable static func isVisible(_ call: Call) async throws -> Bool {
        guard let row = try await call.database.operatorRow(call.id()) else {
            return false
        }
        return call.principal.platform || row.tenant == call.principal.tenant
    }

    /// The tenant of the requested scope; `nil` for the platform. The body must contain a scope,
    /// because the platform, the widest scope, must not be the default.
    private static func scope(_ call: Call) async throws -> UUID? {
        guard let input = call.input.optionalObject("scope") else { throw Problem.internalError }
        let names = ["tenant", "platform", "tenant_id"].filter { input.has($0) }
        guard names.count == 1, !input.has("platform") || input.flag("platform") else {
            throw Problem.invalid([
                FieldError(
                    "/scope", .required,
                    #"must be {"tenant": id or slug} or {"platform": true}"#)
            ])
        }
        let home = call.principal.tenant
        var asked: UUID?
        if let text = input.optionalString("tenant") {
            asked = try await call.database.tenant(text)?.id
        } else if let id = input.optionalUUID("tenant_id") {
            asked = try await call.database.scope(id).tenantRow()?.id
        } else {
            guard home == nil else {
                throw Problem.forbidden(
                    "A credential of a single tenant cannot create operators of the platform.")
            }
            return nil
        }
        if let home {
            guard asked == home else { throw Problem.notFound("tenant") }
        } else if asked == nil {
            throw Problem.invalid([
                FieldError("/scope/\(names[0])", .invalid, "is not a tenant")
            ])
        }
        return asked
    }
}

extension OperatorRow: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("email", email)
            $0.member("name", name)
            $0.member("role", role)
            $0.object("scope") {
                $0.member("tenant_id", tenant)
                if let tenantName { $0.member("tenant_name", tenantName) }
            }
            $0.member("status", status)
            $0.member("confirmed", isConfirmed)
            $0.object("factors") {
                $0.member("passkeys", factors.passkeys)
                $0.member("passkeys_unusable", factors.unusablePasskeys)
                $0.member("totp", factors.totp)
                $0.member("recovery_codes_left", factors.recoveryCodesLeft)
                $0.member("provider", factors.providerKind != nil)
            }
            $0.member("second_factor_due", secondFactorDue)
            $0.member("created_at", createdAt)
            $0.member("updated_at", updatedAt)
            $0.member("last_sign_in_at", lastSignInAt)
        }
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "Operator", versioned: true,
        [
            .readOnly("id", .uuid, "The operator's id."),
            FieldShape("email", .email, "The email address with which the operator signs in."),
            FieldShape(
                "name", .string(min: 1, max: 200, rule: .displayName), nullable: true,
                "The operator's name; `null` if none is known."),
            FieldShape(
                "role", .enumeration(of: Operator.Role.self),
                "`owner`: may do everything. `admin`: may not manage operators, suspend or delete "
                    + "a tenant, or export, erase or purge people. `developer`: manages API keys, "
                    + "origins and apps. `support`: invites members, suspends users, ends sessions "
                    + "and revokes keys. `auditor`: only reads, including the audit log."),
            FieldShape(
                "scope",
                .object(
                    ObjectShape(
                        "OperatorScope",
                        [
                            .nullable(
                                "tenant_id", .uuid,
                                "The id of the only tenant in which the operator may act; `null` "
                                    + "for every tenant and the platform."),
                            .readOnly(
                                "tenant_name", .string(), always: false,
                                "The name of that tenant; absent if `tenant_id` is `null`."),
                        ])),
                "Where the operator may act: in the tenant `tenant_id` or, if `tenant_id` is "
                    + "`null`, in every tenant and the platform."),
            .readOnly(
                "status", .enumeration(of: Operator.Status.self),
                "`pending`: the operator has never signed in. `active`: the operator has signed "
                    + "in, or was created with a password. `suspended`: the operator cannot sign "
                    + "in, and all sessions have ended. A change to `active` ends a suspension."),
            .readOnly(
                "confirmed", .bool,
                "Whether the operator's mailbox is verified, or the platform created the operator. "
                    + "For each address, only one operator can be confirmed."
            ),
            .readOnly(
                "factors",
                .object(
                    ObjectShape(
                        "OperatorFactors",
                        [
                            .readOnly(
                                "passkeys", .integer(0...Int(Int32.max)),
                                "The number of passkeys that the operator can sign in with."),
                            .readOnly(
                                "passkeys_unusable", .integer(0...Int(Int32.max)),
                                "The number of stored passkeys that cannot be used: they were made "
                                    + "for another domain than this server's, or the operator "
                                    + "reported that someone else added them. While this is above "
                                    + "0, the operator cannot sign in with the password alone."),
                            .readOnly(
                                "totp", .bool, "Whether an authenticator app (TOTP) is set up."),
                            .readOnly(
                                "recovery_codes_left", .integer(0...Int(Int32.max)),
                                "The number of unused recovery codes."),
                            .readOnly(
                                "provider", .bool,
                                "Whether the operator is bound to an account at the provider that "
                                    + "`/v1/operator-sign-in` names."),
                        ])), "The operator's ways to sign in, other than the password."),
            .readOnly(
                "second_factor_due", .timestamp, nullable: true,
                "The time until which the operator must set up a second factor; `null` if there is "
                    + "no such time. After this time, an operator who signs in without a second "
                    + "factor can open only their own account."),
            .readOnly("created_at", .timestamp, "When the operator was created."),
            .readOnly(
                "updated_at", .timestamp,
                "When the operator's account was last changed. A sign-in alone does not count."),
            .readOnly(
                "last_sign_in_at", .timestamp, nullable: true,
                "When the operator last signed in; `null` if never."),
        ])
}
