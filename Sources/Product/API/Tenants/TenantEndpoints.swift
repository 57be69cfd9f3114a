import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants`: the tenants, which are the platform's customers.
package enum TenantEndpoints {
    package static let all: [Endpoint] = [
        list, create, get, update, suspend, resume, delete, restore,
    ]

    private static let list = Endpoint(
        .get, "/v1/tenants", id: "listTenants", tag: "Tenants",
        summary: "Lists the tenants that the credential may read, newest first.",
        access: .own(.readTenant),
        query: QueryParameter.list(
            sorts: ["-created_at", "created_at", "name", "-name"],
            search: "Only tenants whose slug and name together contain each of these words, in any "
                + "case and order; only the first 8 words count.")
            + [
                QueryParameter(
                    "status", .array(of: .enumeration(of: Tenant.Status.self), max: 3),
                    "Only tenants with one of these statuses, separated by commas."),
                QueryParameter(
                    "external_id", .externalID,
                    "Only the tenant with this external id."),
            ],
        answers: [.list(TenantRow.listedShape)], mayLag: true
    ) { call in
        let list = try call.listQuery()
        guard call.principal.platform else {
            // A tenant's credential gets a list with only its own tenant.
            var own: [TenantRow] = []
            if let tenant = call.principal.tenant,
                let row = try await call.database.scope(tenant).tenantRow()
            {
                own = [row.seen(by: call)]
            }
            return call.list(ListPage(whole: own))
        }
        let page = try await call.database.tenants(
            list, statuses: call.query.optionalStrings("status"),
            matching: call.query.optionalString("q"),
            externalID: call.query.optionalString("external_id"))
        let users = try await call.database.userCounts(of: page.rows.map(\.id))
        return call.list(page) { $0.write(to: &$1, users: users[$0.id]) }
    }

    private static let create = Endpoint(
        .post, "/v1/tenants", id: "createTenant", tag: "Tenants",
        summary: "Creates a tenant. Its policy has the `sign_up` `invite_only`.",
        access: .platform(.createTenant),
        body: .json(TenantRow.shape.creating("TenantCreation", required: ["slug", "name"])),
        answers: [.created(TenantRow.shape)], problems: [.conflict], idempotent: true
    ) { call in
        let row = try await call.database.createTenant(
            slug: call.input.string("slug"), name: call.input.string("name"),
            policy: .object([]), externalID: call.input.optionalString("external_id"),
            appearance: Appearance().changed(by: call.input.optionalObject("appearance")),
            attributes: call.input.attributes(on: AttributePair()), by: call.actor)
        return .created(row, at: "/v1/tenants/\(row.id)", etag: row.etag)
    }

    private static let get = Endpoint(
        .get, "/v1/tenants/{tenant}", id: "getTenant", tag: "Tenants",
        summary: "Returns one tenant.",
        access: .own(.readTenant), answers: [.ok(TenantRow.shape)]
    ) { call in
        let row = try await current(call)
        return .ok(row.seen(by: call), etag: row.etag)
    }

    private static let update = Endpoint(
        .patch, "/v1/tenants/{tenant}", id: "updateTenant", tag: "Tenants",
        summary:
            "Changes a tenant's name, appearance or attributes. Attributes are merged. The "
            + "platform may also change the external id.",
        access: .right(.editTenant),
        body: .json(slugless.patching("TenantChange")), answers: [.ok(TenantRow.shape)],
        problems: [.conflict], ifMatch: .honoured
    ) { call in
        if call.principal.platform {
            try await call.database.requireFree(
                call.input.optionalString("external_id"), for: call.tenant.id)
        }
        return try await change(call) { change, row in
            try call.input.checkRepeated(against: row.json)
            var new = row
            new.name = call.input.optionalString("name") ?? row.name
            if call.input.has("external_id") {
                new.externalID = call.input.optionalString("external_id")
            }
            guard
                call.principal.platform
                    || sameBytes(new.externalID ?? "", row.externalID ?? "")
            else { throw Problem.forbidden("Only the platform may change a tenant's external id.") }
            new.appearance = row.appearance.changed(
                by: call.input.optionalObject("appearance"))
            new.attributes = call.input.attributes(on: row.attributes)
            return try await change.editTenant(row, to: new)
        }
    }

    /// The shape of a change. The slug is read-only and never changes, since links and apps contain
    /// it.
    private static let slugless: ObjectShape = {
        var shape = TenantRow.shape
        for index in shape.fields.indices where shape.fields[index].name == "slug" {
            shape.fields[index].isReadOnly = true
        }
        return shape
    }()

    private static let suspend = verb(
        "suspend",
        "Suspends a tenant. Its sign-ins, sessions and keys are refused at once; if the tenant "
            + "suspended itself, its owners can still sign in and resume it.",
        .suspended,
        .suspendTenant, .tenantSuspended)
    private static let resume = verb(
        "resume",
        "Ends the suspension of a tenant. If the platform suspended the tenant, only "
            + "the platform can end the suspension.",
        .active, .suspendTenant, .tenantResumed)
    private static let restore = verb(
        "restore", "Restores a deleted tenant, within 30 days.", .active, .deleteTenant,
        .tenantRestored)

    private static func verb(
        _ name: String, _ summary: String, _ status: Tenant.Status, _ right: Right,
        _ action: AuditAction
    ) -> Endpoint {
        Endpoint(
            .post, "/v1/tenants/{tenant}/\(name)", id: "\(name)Tenant", tag: "Tenants",
            summary: summary, access: .right(right),
            answers: [.ok(TenantRow.shape).showing(["status": .string(status.rawValue)])],
            problems: [.conflict], idempotent: true
        ) { call in
            try await change(call) { change, row in
                guard row.status != (name == "restore" ? .suspended : .deleted) else {
                    throw Problem(.conflict, "The tenant is \(row.status).")
                }
                if row.status == .suspended, !call.principal.platform,
                    try await !change.isSuspendedByItself()
                {
                    throw Problem(.reason(.tenantSuspended), "The platform suspended the tenant.")
                }
                return try await change.setTenantStatus(
                    row, status, action: action,
                    by: call.principal.platform ? .platform : .tenant)
            }
        }
    }

    private static let delete = Endpoint(
        .delete, "/v1/tenants/{tenant}", id: "deleteTenant", tag: "Tenants",
        summary:
            "Deletes a tenant, which can be restored for 30 days. `purge` removes a deleted tenant "
            + "permanently.",
        access: .anyOf([.deleteTenant, .purgeTenant]),
        query: [
            QueryParameter(
                "purge", .bool,
                "If true: removes all data of a deleted tenant permanently, except the audit log "
                    + "and the slug. Only the platform may do this."),
            QueryParameter(
                "confirm", .string(min: 1),
                "For a purge only. The first request is answered with 409 (`confirm_required`); "
                    + "repeat it with the `confirm` value of that response."),
        ],
        answers: [.noContent], problems: [.conflict, .confirmRequired], ifMatch: .honoured
    ) { call in
        let purges = call.query.flag("purge")
        let right = purges ? Right.purgeTenant : .deleteTenant
        let permission = Permissions.permits(call.principal.subject, right, in: try call.tenant.id)
        guard permission == .allowed else { throw Problem.missing(right, permission) }
        if purges { return try await purge(call) }
        _ = try await change(call) { change, row in
            try await change.setTenantStatus(row, .deleted, action: .tenantDeleted)
        }
        return .noContent
    }

    private static func purge(_ call: Call) async throws -> Response {
        let tenant = try call.tenant.id
        _ = try await change(call) { change, row in
            guard row.status == .deleted else {
                throw Problem(.conflict, "The tenant is \(row.status); delete it first.")
            }
            let expected = call.database.purgeConfirmation(row)
            guard call.query.optionalString("confirm") == expected else {
                throw Problem(
                    .confirmRequired,
                    "This cannot be undone: repeat the request with `confirm` to purge "
                        + "\(row.slug).",
                    members: [.init("confirm", .string(expected))])
            }
            try await change.beginPurge(row)
            return row
        }
        try await call.database.purgeTenant(tenant, by: call.actor)
        return .noContent
    }

    private static func current(_ call: Call) async throws -> TenantRow {
        guard let row = try await call.scope.tenantRow() else { throw Problem.notFound("tenant") }
        return row
    }

    private static func change(
        _ call: Call, _ body: @Sendable (Change, TenantRow) async throws -> TenantRow
    ) async throws -> Response {
        let row = try await call.scope.change(by: call.actor) { change in
            let row = try await change.lockTenant()
            try call.requireMatch(row.etag)
            return try await body(change, row)
        }
        return .ok(row, etag: row.etag)
    }
}

extension TenantRow: JSONView {
    /// Writes the tenant as `/v1` shows it.
    func write(to json: inout JSONWriter) { write(to: &json, users: nil) }

    func write(to json: inout JSONWriter, users: ListTotal?) {
        json.object {
            $0.member("id", id)
            $0.member("slug", slug)
            $0.member("name", name)
            $0.member("status", status)
            $0.member("external_id", externalID)
            $0.member("appearance", appearance.json)
            $0.member("public_attributes", stored: attributes.public)
            if !hidesPrivate { $0.member("private_attributes", stored: attributes.private) }
            $0.member("created_at", createdAt)
            $0.member("updated_at", updatedAt)
            guard let users else { return }
            $0.object("users") {
                $0.member("value", users.value)
                $0.member("exact", users.exact)
            }
        }
    }

    var etag: String { ETag.version(version) }

    /// The tenant without private attributes, as people, their apps and hooks see it.
    var withoutPrivate: TenantRow {
        var row = self
        row.hidesPrivate = true
        return row
    }

    /// The tenant as this caller may see it.
    func seen(by call: Call) -> TenantRow {
        var row = self
        row.hidesPrivate = call.bound(.readTenant) != nil
        return row
    }

    static let shape = ObjectShape("Tenant", versioned: true, fields)
    /// The shape of a tenant in the platform's list, which also has the number of its users.
    static let listedShape = ObjectShape(
        "ListedTenant",
        fields + [
            .readOnly(
                "users",
                .object(
                    ObjectShape([
                        .readOnly(
                            "value", .integer(0...Int.max),
                            "The number of users that were counted."),
                        .readOnly(
                            "exact", .bool,
                            "Whether `value` is exact. If false, counting stopped early, and there "
                                + "are at least this many users."),
                    ])), always: false,
                "The number of users, without deleted ones; present only for a credential of the "
                    + "platform.")
        ])

    private static let fields: [FieldShape] =
        [
            .readOnly("id", .uuid, "The tenant's id."),
            FieldShape(
                "slug", .string(min: 2, max: 63, rule: .slug),
                "The tenant's name in URLs. It is never given to another tenant.",
                example: .string("acme")),
            FieldShape(
                "name", .string(min: 1, max: 200, rule: .displayName),
                "The tenant's name, as people see it unless `appearance` has another.",
                example: .string("Acme")),
            .readOnly(
                "status", .enumeration(of: Tenant.Status.self),
                "`active`: people can sign in, and keys work. `suspended`: sign-ins, sessions and "
                    + "keys are refused; only if the tenant suspended itself, its owners can sign "
                    + "in to resume it. `deleted`: sign-ins, sessions and keys are refused, and "
                    + "the tenant can be restored for 30 days."),
            FieldShape(
                "external_id", .externalID, nullable: true,
                "The tenant's id in the platform's own system, compared byte by byte. No two "
                    + "tenants may have the same id.",
                example: .string("account-17")),
            Appearance.field,
            .publicAttributes, .privateAttributes,
            .readOnly("created_at", .timestamp, "When the tenant was created."),
            .readOnly("updated_at", .timestamp, "When the tenant or its policy was last changed."),
        ]
}
