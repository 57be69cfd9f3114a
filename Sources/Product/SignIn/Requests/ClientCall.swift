import API
import Domain
import HTTP
import JSON
import Routing
import Storage
import Text

/// One request of an app: the tenant and the client that its mount stands for, and the core.
package struct ClientCall: Sendable {
    package let call: Call
    package let tenant: TenantRow
    package let client: ClientRow
    let contract: Contract
    package let core: SignInCore

    /// 404 for an unknown tenant and a client that is off, 403 for a suspended tenant, 400 for a
    /// credential in the query, where logs would keep it.
    init(_ call: Call, _ contract: Contract, _ core: SignInCore) async throws {
        let name = try call.parameter("tenant")
        guard let found = try await core.database.mountedClient(contract.name, of: name) else {
            throw Problem.notFound("path")
        }
        if found.tenant.status == "suspended" { throw SignInRefusal.tenantSuspended }
        self.call = call
        self.contract = contract
        self.core = core
        tenant = found.tenant
        client = found.client
        for name in ["apiKey", "sessionKey"] {
            guard let credential = query(name) else { continue }
            try await noteLeak(of: credential)
            throw Problem(.invalidRequest, "A credential must not stand in the address.")
        }
    }

    /// A key that stood in an address stands in logs by now, which its tenant has to know.
    private func noteLeak(of credential: String) async throws {
        guard credential.utf8.starts(with: "gate_".utf8),
            let key = try? await core.checkKey(credential, request), key.tenant == tenant.id,
            let id = key.id
        else { return }
        try await scope.change(by: clientActor) {
            try await $0.audit(.apiKeyLeaked, AuditTarget("api_key", id, key.name))
        }
    }

    /// A call of a client that was looked up already.
    init(
        _ call: Call, _ client: ClientRow, of tenant: TenantRow, _ contract: Contract,
        _ core: SignInCore
    ) {
        self.call = call
        self.client = client
        self.tenant = tenant
        self.contract = contract
        self.core = core
    }

    package var request: Request { call.request }
    package var now: Timestamp { call.now }
    package var scope: TenantScope { core.database.scope(tenant.id) }

    package func parameter(_ name: String) throws -> String { try call.parameter(name) }

    /// A parameter of the query, form-decoded; nil where it is absent or not well encoded.
    package func query(_ name: String) -> String? {
        FormText(request.query).first(name)
    }

    /// The body as a JSON object; an empty one is `{}`. Throws 400.
    package func object() throws -> Input {
        if request.body.isEmpty { return Input() }
        guard let value = try? JSONValue(parsing: request.body), let input = Input(object: value)
        else {
            throw Problem(.invalidRequest, "The body must be a JSON object.")
        }
        return input
    }

    /// 415 for a body that is not JSON by its type: what a page of any site can send without asking
    /// before (`text/plain`, forms; a body without a type) must not be read as JSON. An app that names
    /// no type is no page, which would name its origin.
    func requireJSON() throws {
        guard !request.body.isEmpty, request.method != .get, request.method != .head else { return }
        let sent = request.first("content-type")
        if sent == nil, request.first("origin") == nil, request.first("sec-fetch-site") == nil {
            return
        }
        let bare = (sent ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }
        let type = asciiLowercased(String(decoding: bare, as: UTF8.self))
            .filter { $0 != " " && $0 != "\t" }
        let isJSON =
            sameBytes(type, "application/json")
            || type.utf8.starts(with: "application/".utf8) && type.hasSuffix("+json")
        guard isJSON else {
            throw Problem(.unsupportedMediaType, "The body must be application/json.")
        }
    }

    /// A setting of the client.
    package func setting(_ name: String) -> JSONValue? { client.settings[name] }

    /// How long a session lasts here.
    package func tokenSeconds(default seconds: Int) -> Int64 {
        Int64(setting("token_seconds")?.int ?? seconds)
    }

    /// Whether the app reached this at a host of its own.
    package var isAtOwnHost: Bool { request.isMountedByHost }

    /// Where cookies of this mount belong.
    package var cookiePath: String {
        isAtOwnHost ? "/" : "/t/\((try? parameter("tenant")) ?? tenant.slug)/\(contract.name)"
    }

    /// The base address that the app was given, without a trailing slash.
    package var baseURL: String {
        isAtOwnHost
            ? "\(request.isTLS ? "https" : "http")://\(request.first("host") ?? "")"
            : core.publicURL + cookiePath
    }

    /// Who the audit rows name: the person, once known.
    package func actor(_ user: UserRow? = nil) -> Actor {
        Actor(
            type: "user", id: user?.id.description ?? "", name: user?.name ?? user?.email ?? "",
            requestID: request.id, ip: request.remoteAddress)
    }

    /// Who they name where the rules decide of a person: the app's door.
    var clientActor: Actor {
        Actor(
            type: "client", id: client.name, name: client.name, requestID: request.id,
            ip: request.remoteAddress)
    }
}
