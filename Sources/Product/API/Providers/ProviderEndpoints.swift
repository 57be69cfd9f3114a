import Domain
import Federation
import HTTP
import Storage
import Text

/// `/v1/providers`: identity providers. A tenant's credential sees its own providers.
enum ProviderEndpoints {
    static let all: [Endpoint] = [list, create, get, update, delete]

    private static let list = Endpoint(
        .get, "/v1/providers", id: "listProviders", tag: "Providers",
        summary: "The providers of the credential's owner, newest first; the platform's "
            + "credential sees all.",
        access: .right(.readProviders),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]) + [
            QueryParameter("kind", .enumeration(of: ProviderKind.self)),
            QueryParameter(
                "unreachable", .bool, "True: those that this server cannot reach now."),
        ],
        answers: [.list(ProviderRow.shape)]
    ) { call in
        let database = try call.services.database
        let list = try call.listQuery()
        let unreachable = try call.services.providerDocuments.unreachable
        var page = try await database.providers(
            list, owner: call.providerOwner, kind: call.query.optionalString("kind"),
            ids: call.query.flag("unreachable") ? Array(unreachable.keys) : nil)
        for index in page.rows.indices {
            page.rows[index].unreachableSince = unreachable[page.rows[index].id]
        }
        return call.list(page)
    }

    private static let create = Endpoint(
        .post, "/v1/providers", id: "createProvider", tag: "Providers",
        summary: "Registers a provider of the platform or, with `tenant`, of one tenant.",
        access: .right(.writeProviders), body: .json(ProviderRow.creation),
        answers: [.created(ProviderRow.shape)], problems: [.conflict], idempotent: true
    ) { call in
        var owner = call.callerTenant ?? .platform
        if let text = call.input.optionalString("tenant") {
            guard let tenant = try await call.services.database.tenant(text),
                call.principal.platform || tenant.id == owner
            else {
                throw Problem.invalid([FieldError("/tenant", .invalid, "must be a tenant")])
            }
            owner = tenant.id
        }
        let input = try await ProviderInput(call, owner: owner, current: nil)
        let database = try call.services.database
        let row = try await database.scope(owner).change(by: call.actor) { change in
            let row = try await change.createProvider(
                kind: input.kind, name: input.name, issuer: input.issuer,
                document: input.document, isConfirmed: input.isConfirmed)
            return try await change.changeSecret(row, input.secret, in: database)
        }
        guard let row = try await database.named([row]).first else { throw Problem.internalError }
        return .created(row, at: "/v1/providers/\(row.id)", etag: row.etag)
    }

    private static let get = Endpoint(
        .get, "/v1/providers/{id}", id: "getProvider", tag: "Providers",
        summary: "One provider.", access: .right(.readProviders),
        answers: [.ok(ProviderRow.shape)]
    ) { call in
        var row = try await call.ownProvider
        row.unreachableSince = try call.services.providerDocuments.unreachable[row.id]
        return .ok(row, etag: row.etag)
    }

    private static let update = Endpoint(
        .patch, "/v1/providers/{id}", id: "updateProvider", tag: "Providers",
        summary: "Changes a provider.", access: .right(.writeProviders),
        body: .json(ProviderRow.change), answers: [.ok(ProviderRow.shape)],
        problems: [.conflict], ifMatch: .honoured, exists: exists
    ) { call in
        let seen = try await call.ownProvider
        let database = try call.services.database
        let scope = database.scope(seen.tenantID ?? .platform)
        let row = try await scope.change(by: call.actor) { change in
            var row = try await change.lockProvider(seen.id)
            row.tenantName = seen.tenantName
            try await OperatorsProvider.requireKeeper(of: row, call)
            try call.requireMatch(row.etag)
            try call.input.checkRepeated(against: row.json)
            let input = try await ProviderInput(
                call, owner: row.tenantID ?? .platform, current: row)
            let changed = try await change.updateProvider(
                row, name: input.name, issuer: input.issuer, document: input.document,
                isConfirmed: input.isConfirmed)
            var stored = try await change.changeSecret(changed, input.secret, in: database)
            stored.tenantName = row.tenantName
            return stored
        }
        return .ok(row, etag: row.etag)
    }

    private static let delete = Endpoint(
        .delete, "/v1/providers/{id}", id: "deleteProvider", tag: "Providers",
        summary: "Removes a provider; its identities stay, and nobody signs in by them any more. "
            + "With identities it has to be confirmed.",
        access: .right(.writeProviders), query: [ProviderRemoval.parameter],
        answers: [.noContent], problems: [.confirmRequired, .conflict], ifMatch: .honoured,
        exists: exists
    ) { call in
        let seen = try await call.ownProvider
        let scope = try call.services.database.scope(seen.tenantID ?? .platform)
        let identities = try await call.services.database.identities(at: seen)
        try await scope.change(by: call.actor) { change in
            let row = try await change.lockProvider(seen.id)
            try await OperatorsProvider.requireUnused(row, call)
            try call.requireMatch(row.etag)
            try ProviderRemoval(call: call).check(row, identities: identities)
            try await change.deleteProvider(row)
        }
        return .noContent
    }

    static let exists: @Sendable (Call) async throws -> Bool = { call in
        try await call.services.database.provider(call.id(), owner: call.providerOwner) != nil
    }
}

extension Call {
    /// nil sees every owner's providers.
    fileprivate var providerOwner: UUID? {
        principal.platform ? nil : principal.tenant ?? .platform
    }

    /// The path's provider, if the credential may see it.
    var ownProvider: ProviderRow {
        get async throws {
            let row = try await services.database.provider(id(), owner: providerOwner)
            guard let row, let named = try await services.database.named([row]).first else {
                throw Problem.notFound("provider")
            }
            return named
        }
    }
}
