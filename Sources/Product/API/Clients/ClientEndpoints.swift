import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/clients`: a tenant's client apps and their settings.
package enum ClientEndpoints {
    package static let all: [Endpoint] = [list, get, put]

    private static let path = "/v1/tenants/{tenant}/clients"

    private static let list = Endpoint(
        .get, path, id: "listClients", tag: "Clients",
        summary:
            "Lists the apps whose API this server implements (for example `immich`), with this "
            + "tenant's settings.",
        access: .right(.readClients), answers: [.list(ClientRow.shape)]
    ) { call in
        let rows = try await call.scope.clients()
        let bound = try await call.scope.boundHosts()
        let secrets = try await call.scope.clientsWithSecret()
        let items = call.application.clients.map { known in
            (rows.first { sameBytes($0.name, known.name) } ?? ClientRow(unset: known.name))
                .json(bound, hasSecret: secrets.contains { sameBytes($0, known.name) })
        }
        return call.list(items, next: nil, total: Total(items.count))
    }

    private static let get = Endpoint(
        .get, "\(path)/{client}", id: "getClient", tag: "Clients",
        summary:
            "Returns an app whose API this server implements, with this tenant's settings.",
        access: .right(.readClients), answers: [.ok(ClientRow.shape)]
    ) { call in
        guard let known = try description(of: call) else { throw Problem.notFound("client") }
        let row = try await call.scope.client(known.name) ?? ClientRow(unset: known.name)
        let hasSecret = try await call.scope.clientsWithSecret().contains {
            sameBytes($0, known.name)
        }
        let bound = try await call.scope.boundHosts()
        return .ok(row.json(bound, hasSecret: hasSecret), etag: row.etag)
    }

    private static let put = Endpoint(
        .put, "\(path)/{client}", id: "putClient", tag: "Clients",
        summary: "Sets a client's settings. Settings that are absent get their default, except the "
            + "`secret`, which stays.",
        access: .right(.writeClients), body: .json(ClientRow.shape),
        answers: [.ok(ClientRow.shape)], problems: [.conflict], ifMatch: .honoured,
        exists: { try description(of: $0) != nil },
        handle: { call in
            guard let known = try description(of: call) else { throw Problem.notFound("client") }
            let input = try ClientInput(call, known)
            let next = input.row
            let audience = try await input.secretAudience(call.database, tenant: call.tenant.id)
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
                    of: row, input.secret, for: audience)
                return .ok(row.json(bound, hasSecret: hasSecret), etag: row.etag)
            }
        })

    private static func description(of call: Call) throws -> ClientDescription? {
        let name = try call.parameter("client")
        return call.application.clients.first { sameBytes($0.name, name) }
    }
}

extension ClientRow {
    var etag: String { ETag.version(version) }

    /// The client as `/v1` shows it. `bound` contains the hosts that are bound to any of the
    /// tenant's clients.
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
        "Client", versioned: true,
        [
            .readOnly("name", .string(), "The client's name, for example `immich`."),
            .optional("enabled", .bool, "Whether the client's paths are served; false if absent."),
            .optional(
                "hosts", .array(of: .string(min: 1, max: 260, rule: ClientHost.rule), max: 20),
                "The hosts that are served as this client, each with a port if it is not the "
                    + "default one. A new host must be at or below a verified domain of the "
                    + "tenant; the platform may also set other hosts, except at or below another "
                    + "tenant's verified domain."),
            .readOnly(
                "unbound_hosts", .array(of: .string(), max: 20),
                "The hosts in `hosts` that cannot be served, for example because the host is no "
                    + "longer at or below a verified domain of the tenant."),
            .optional(
                "redirect_uris",
                .array(of: .string(min: 1, max: 2048, rule: RedirectURI.rule), max: 50),
                "The URLs that a sign-in may redirect to. The URL in a request must equal one of them "
                    + "byte by byte."),
            .optional(
                "settings", .any,
                "The client's settings: `provider`, `client_id`, `secret` and `token_seconds`, and "
                    + "those that only this client has."),
            .readOnly("secret_set", .bool, "Whether a client secret is stored."),
            .readOnly(
                "created_at", .timestamp, nullable: true,
                "When the client was configured for the first time; `null` if it never was."),
            .readOnly(
                "updated_at", .timestamp, nullable: true,
                "When the client was last configured; `null` if it never was."),
        ])
}

/// The client settings of a request body, checked against the settings that the contract declares.
struct ClientInput {
    var row: ClientRow
    var secret: ProviderSecret
    private let kinds: [String]

    init(_ call: Call, _ known: ClientDescription) throws {
        var decoder = Decoder(allowsReadOnly: false)
        let given = call.input["settings"] ?? .object([])
        let settings = decoder.object(given, known.settings, at: "/settings")
        guard decoder.errors.isEmpty else { throw Problem.invalid(decoder.errors) }
        row = ClientRow(unset: known.name)
        row.enabled = call.input.flag("enabled")
        row.hosts = Self.once((call.input.optionalStrings("hosts") ?? []).compactMap(ClientHost.of))
        let redirects = call.input.optionalStrings("redirect_uris") ?? []
        try Self.checkTransport(redirects, own: PublicAddress(call.application.publicURL))
        row.redirectURIs = Self.once(redirects)
        row.settings = .object(settings.members.filter { !sameBytes($0.name, "secret") })
        kinds = known.providerKinds
        secret =
            settings.has("secret")
            ? settings.optionalString("secret").map { .set($0) } ?? .clear : .keep
        if case .set = secret, row.settings["client_id"]?.string == nil {
            throw Self.refusal("is the secret of a client: send `client_id` too")
        }
    }

    /// The hash of the place that receives the client secret: the provider and its endpoints. `nil`
    /// if no provider is found. Throws 422 if the body has a new secret without a provider, since a
    /// secret is bound to the provider that it was set for.
    func secretAudience(_ database: Database, tenant: UUID) async throws -> [UInt8]? {
        guard let clientID = row.settings["client_id"]?.string else { return nil }
        let provider = ProviderChoice.choose(
            from: try await database.providers(near: tenant), kinds: kinds,
            named: row.settings["provider"]?.string)
        if let provider { return provider.secretAudience(clientID: clientID) }
        guard case .set = secret else { return nil }
        throw Self.refusal(
            "needs a provider that the secret is for: register one, or name it in `provider`")
    }

    private static func refusal(_ detail: String) -> Problem {
        Problem.invalid([FieldError("/settings/secret", .notAllowed, detail)])
    }

    /// Throws 422 for a new redirect URI with a scheme that any app may claim. `stored` contains
    /// the client's current redirect URIs.
    func checkSchemes(besides stored: [String]) throws {
        let errors = row.redirectURIs.enumerated().compactMap { index, uri in
            RedirectURI.isOwnedScheme(uri) || stored.contains(where: { sameBytes($0, uri) })
                ? nil
                : FieldError(
                    "/redirect_uris/\(index)", .notAllowed,
                    "needs a scheme with a dot, such as com.example.app, that no other app claims "
                        + "(RFC 8252 section 7.1)")
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    private static func checkTransport(_ redirects: [String], own: PublicAddress?) throws {
        let errors = redirects.enumerated().compactMap { index, uri in
            RedirectURI.isInTheClear(uri, own: own)
                ? FieldError(
                    "/redirect_uris/\(index)", .notAllowed,
                    "must be https; plain http is allowed only for 127.0.0.1, [::1], localhost and "
                        + "this server's own address")
                : nil
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    private static func once(_ texts: [String]) -> [String] {
        var seen: [String] = []
        for text in texts where !seen.contains(where: { sameBytes($0, text) }) { seen.append(text) }
        return seen
    }
}

/// A client contract as the API knows it. The contracts themselves are in a layer above.
package struct ClientDescription: Sendable {
    /// The name in paths.
    package var name: String
    /// The CORS profile: the methods and header fields that the client's pages may send.
    var profile: CORSProfile
    var settings: ObjectShape
    /// The provider kinds for which the setting `client_id` is used.
    var providerKinds: [String]
    /// Converts a problem to an error response in the client's own form.
    package var encode: @Sendable (Problem, Request) -> Response

    /// The provider kinds that support a sign-in in the browser.
    package static let signInKinds = ["oidc", "google", "github"]

    package init(
        name: String, profile: CORSProfile, settings: ObjectShape,
        providerKinds: [String] = Self.signInKinds,
        encode: @escaping @Sendable (Problem, Request) -> Response
    ) {
        self.name = name
        self.profile = profile
        self.settings = settings
        self.providerKinds = providerKinds
        self.encode = encode
    }
}
