import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// One request of an app, with the tenant and the client of its mount.
package struct ClientCall: Sendable {
    package let call: Call
    package let tenant: TenantRow
    package let client: ClientRow
    let contract: Contract

    /// 404 for an unknown tenant and for a client that is off, 403 for a suspended tenant, 400 for
    /// a credential in the query, where logs would keep it.
    init(_ call: Call, _ contract: Contract) async throws {
        let name = try call.parameter("tenant")
        guard let found = try await call.database.mountedClient(contract.name, of: name) else {
            throw Problem.notFound("path")
        }
        if found.tenant.status == .suspended { throw SignInRefusal.tenantSuspended }
        self.call = call
        self.contract = contract
        tenant = found.tenant
        client = found.client
        for name in ["apiKey", "sessionKey"] {
            guard let credential = query(name) else { continue }
            try await noteLeak(of: credential)
            throw Problem(.invalidRequest, "A credential must not be part of the URL.")
        }
    }

    /// A key in a URL is in logs by now, so this informs its tenant.
    private func noteLeak(of credential: String) async throws {
        guard credential.utf8.starts(with: "gate_".utf8),
            let key = try? await application.authenticator.key(credential, request),
            key.tenant == tenant.id,
            let id = key.id
        else { return }
        try await scope.change(by: clientActor) {
            try await $0.audit(.apiKeyLeaked, AuditTarget("api_key", id, key.name))
        }
    }

    /// A call of a client that has already been looked up.
    init(
        _ call: Call, _ client: ClientRow, of tenant: TenantRow, _ contract: Contract
    ) {
        self.call = call
        self.client = client
        self.tenant = tenant
        self.contract = contract
    }

    package var application: Application { call.application }
    package var database: Database { call.database }
    package var request: Request { call.request }
    package var now: Timestamp { call.now }
    package var scope: TenantScope { database.scope(tenant.id) }

    package func parameter(_ name: String) throws -> String { try call.parameter(name) }

    /// A parameter of the query, form-decoded; `nil` if it is absent or badly encoded.
    package func query(_ name: String) -> String? { FormText(request.query).first(name) }

    /// The body as a JSON object; an empty one is `{}`. Throws 400.
    package func object() throws -> Input {
        if request.body.isEmpty { return Input() }
        guard let value = try? JSONValue(parsing: request.body), let input = Input(object: value)
        else {
            throw Problem(.invalidRequest, "The body must be a JSON object.")
        }
        return input
    }

    /// 415 for a body whose type is not JSON: what a page of any site can send without a preflight
    /// (`text/plain`, forms, a body without a type) must not be read as JSON. An app that sends no
    /// type is not a page, because a page would send its origin.
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

    /// Whether the app used its own host for this request.
    package var isAtOwnHost: Bool { request.isMountedByHost }

    /// The path of this mount's cookies.
    package var cookiePath: String {
        isAtOwnHost ? "/" : "/t/\((try? parameter("tenant")) ?? tenant.slug)/\(contract.name)"
    }

    /// The base address of the app's settings, without a trailing slash.
    package var baseURL: String {
        isAtOwnHost
            ? "\(request.isTLS ? "https" : "http")://\(request.first("host") ?? "")"
            : application.publicURL + cookiePath
    }

    /// The actor of audit rows: the user, once known.
    package func actor(_ user: UserRow? = nil) -> Actor {
        Actor(
            type: "user", id: user?.id.description ?? "", name: user?.name ?? user?.email ?? "",
            requestID: request.id, ip: request.remoteAddress)
    }

    /// The actor while the rules decide about a person: the client.
    var clientActor: Actor {
        Actor(
            type: "client", id: client.name, name: client.name, requestID: request.id,
            ip: request.remoteAddress)
    }
}

/// `application/x-www-form-urlencoded`, as in queries and token requests. A value may contain bytes
/// that should have been escaped, since an app sends its redirect address as it is.
package struct FormText: Sendable {
    private let pairs: [(name: String, value: String)]

    package init(_ text: String) {
        var pairs: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")).prefix(64) {
            let halves = part.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decodeForm(halves[0]),
                let value = halves.count > 1 ? PercentEncoding.decodeForm(halves[1]) : ""
            else { continue }
            pairs.append((name, value))
        }
        self.pairs = pairs
    }

    package func first(_ name: String) -> String? {
        pairs.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// Whether a name is given twice, which is ambiguous.
    package func isRepeated(_ name: String) -> Bool {
        pairs.count { $0.name.utf8.elementsEqual(name.utf8) } > 1
    }

    /// The pairs, escaped again and joined with `&`.
    package static func encode(_ pairs: [(String, String)]) -> String {
        pairs.map { PercentEncoding.encode($0.0.utf8) + "=" + PercentEncoding.encode($0.1.utf8) }
            .joined(separator: "&")
    }
}

extension ClientCall {
    /// A cookie of this mount, with its attributes in the order that apps' own tests compare.
    /// `isHidden` hides it from scripts.
    func cookie(_ name: String, _ value: String, seconds: Int64, isHidden: Bool = true) -> Field {
        let end = now.microseconds / 1_000_000 + seconds
        var text = "\(name)=\(value); Max-Age=\(seconds); Path=\(cookiePath); "
        text += "Expires=\(HTTPDate.text(end))"
        if isHidden { text += "; HttpOnly" }
        if request.isTLS { text += "; Secure" }
        return Field("set-cookie", text + "; SameSite=Lax")
    }

    /// Removes a cookie of this mount.
    func clearedCookie(_ name: String) -> Field {
        Field("set-cookie", "\(name)=; Path=\(cookiePath); Expires=Thu, 01 Jan 1970 00:00:00 GMT")
    }
}
