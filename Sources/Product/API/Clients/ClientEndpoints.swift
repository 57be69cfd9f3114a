import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/clients`: a tenant's client apps and their settings.
enum ClientEndpoints {
    static let all: [Endpoint] = [list, put]

    private static let path = "/v1/tenants/{tenant}/clients"

    private static let list = Endpoint(
        .get, path, id: "listClients", tag: "Clients",
        summary: "Every client contract there is, as this tenant has it.",
        access: .right(.readClients), answers: [.list(ClientRow.shape)]
    ) { call in
        let rows = try await call.scope.clients()
        let bound = try await call.scope.boundHosts()
        let secrets = try await call.scope.clientsWithSecret()
        let items = call.services.clients.map { known in
            (rows.first { sameBytes($0.name, known.name) } ?? ClientRow(unset: known.name))
                .json(bound, hasSecret: secrets.contains { sameBytes($0, known.name) })
        }
        return call.list(items, next: nil, total: Total(items.count))
    }

    private static let put = Endpoint(
        .put, "\(path)/{client}", id: "putClient", tag: "Clients",
        summary: "Sets a client; what is left out has its default.",
        access: .right(.writeClients), body: .json(ClientRow.shape),
        answers: [.ok(ClientRow.shape)], problems: [.conflict], ifMatch: .honoured,
        exists: { try description(of: $0) != nil },
        handle: { call in
            guard let known = try description(of: call) else { throw Problem.notFound("client") }
            let input = try ClientInput(call, known)
            let next = input.row
            let database = try call.services.database
            let audience = try await input.secretAudience(database, tenant: call.tenant.id)
            let binding = HostBinding(call)
            let had = try await call.scope.clientsWithSecret().contains {
                sameBytes($0, known.name)
            }
            return try await call.scope.change(by: call.actor) { change in
                let current = try await change.lockClient(known.name)
                try call.requireMatch(current.etag)
                try input.checkSchemes(besides: current.redirectURIs)
                try call.input.checkRepeated(
                    against: current.json(try await change.boundHosts(), hasSecret: had))
                try await binding.check(next.hosts, besides: current.hosts, in: change)
                let bound = try await change.bindHosts(
                    of: current, as: next, isAssertedByPlatform: binding.isPlatform)
                let row = try await change.putClient(current, as: next)
                let hasSecret = try await change.changeClientSecret(
                    of: row, input.secret, for: audience, in: database)
                return .ok(row.json(bound, hasSecret: hasSecret), etag: row.etag)
            }
        })

    private static func description(of call: Call) throws -> ClientDescription? {
        let name = try call.parameter("client")
        return call.services.clients.first { sameBytes($0.name, name) }
    }
}

extension ClientRow {
    var etag: String { ETag.version(version) }

    /// `bound`: the hosts of the tenant's clients.
    func json(_ bound: [BoundClientHost], hasSecret: Bool) -> JSONValue {
        let unbound = hosts.filter { host in
            !bound.contains { sameBytes($0.client, name) && sameBytes($0.host, host) }
        }
        return .object([
            .init("name", .string(name)), .init("enabled", .bool(enabled)),
            .init("hosts", .strings(hosts)), .init("unbound_hosts", .strings(unbound)),
            .init("redirect_uris", .strings(redirectURIs)),
            .init("settings", settings), .init("secret_set", .bool(hasSecret)),
            .init("created_at", .time(createdAt)),
            .init("updated_at", .time(updatedAt)),
        ])
    }

    static let shape = ObjectShape(
        "Client",
        [
            .readOnly("name", .string()),
            .optional("enabled", .bool, "Whether its paths answer; false when absent."),
            .optional(
                "hosts", .array(of: .string(min: 1, max: 260, rule: ClientHost.rule), max: 20),
                "Hosts, with a port where it is not the usual one, that answer as this client: at or "
                    + "below a verified domain of the tenant, or any that the platform binds."),
            .readOnly(
                "unbound_hosts", .array(of: .string(), max: 20),
                "Those of `hosts` that do not answer, because the tenant's domain above them is no "
                    + "longer verified."),
            .optional(
                "redirect_uris",
                .array(of: .string(min: 1, max: 2048, rule: RedirectURI.rule), max: 50),
                "Where a sign-in may lead back to; compared byte for byte."),
            .optional(
                "settings", .any,
                "What the client declares: `provider` and `token_seconds`, and its own."),
            .readOnly("secret_set", .bool, "Whether a secret of the client's own is kept."),
            .readOnly("created_at", .timestamp, nullable: true),
            .readOnly("updated_at", .timestamp, nullable: true),
        ])
}
