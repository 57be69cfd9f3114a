import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// One request of an app, with the tenant and the client to which its path or host leads.
struct ClientCall: Sendable {
    let call: Call
    let tenant: TenantRow
    let client: ClientRow
    let contract: Contract

    /// Looks up the tenant and the client. Throws 404 for an unknown tenant and for a client that
    /// is switched off, 403 for a suspended tenant, and 400 for a credential in the query, where
    /// logs would keep it.
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

    /// Records for the tenant, in an audit row, that one of its keys was sent in a URL. The key may
    /// be in logs by now.
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

    /// Creates the call for a client that has already been looked up.
    init(
        _ call: Call, _ client: ClientRow, of tenant: TenantRow, _ contract: Contract
    ) {
        self.call = call
        self.client = client
        self.tenant = tenant
        self.contract = contract
    }

    var application: Application { call.application }
    var database: Database { call.database }
    var request: Request { call.request }
    var now: Timestamp { call.now }
    var scope: TenantScope { database.scope(tenant.id) }

    func parameter(_ name: String) throws -> String { try call.parameter(name) }

    /// Returns a parameter of the query, form-decoded; `nil` if it is absent or badly encoded.
    func query(_ name: String) -> String? { FormText(request.query).first(name) }

    /// Returns the body as a JSON object, `{}` if the body is empty. Throws 400 if the body is
    /// anything else.
    func object() throws -> Input {
        if request.body.isEmpty { return Input() }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: request.body)
        } catch {
            throw Problem(.invalidRequest, "The body cannot be read as JSON: \(error).")
        }
        guard let input = Input(object: value) else {
            throw Problem(.invalidRequest, "The body must be a JSON object.")
        }
        return input
    }

    /// Throws 415 for a body whose type is not JSON. A page of any site can send such a body
    /// without a preflight (`text/plain`, forms, or no type), so it must not be read as JSON. A
    /// request without a type and without an origin is allowed: it comes from an app, since a page
    /// would send its origin.
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

    /// Returns a setting of the client; `nil` if it is not set.
    func setting(_ name: String) -> JSONValue? { client.settings[name] }

    /// Returns the lifetime of a session of this client, in seconds.
    func tokenSeconds(default seconds: Int) -> Int64 {
        Int64(setting("token_seconds")?.int ?? seconds)
    }

    /// Whether the request was for a host of the app's own, instead of a path below `/t/`.
    var isAtOwnHost: Bool { request.isMountedByHost }

    /// The path for the cookies of this client.
    var cookiePath: String {
        isAtOwnHost ? "/" : "/t/\((try? parameter("tenant")) ?? tenant.slug)/\(contract.name)"
    }

    /// The address to enter in the app as its server, without a trailing slash.
    var baseURL: String {
        isAtOwnHost
            ? "\(request.isTLS ? "https" : "http")://\(request.first("host") ?? "")"
            : application.publicURL + cookiePath
    }

    /// Returns the actor for audit rows: the user, if known.
    func actor(_ user: UserRow? = nil) -> Actor {
        Actor(
            type: "user", id: user?.id.description ?? "", name: user?.name ?? user?.email ?? "",
            requestID: request.id, ip: request.remoteAddress)
    }

    /// The actor for audit rows while the rules still decide who the person is: the client.
    var clientActor: Actor {
        Actor(
            type: "client", id: client.name, name: client.name, requestID: request.id,
            ip: request.remoteAddress)
    }
}

/// Reads and writes `application/x-www-form-urlencoded`, as in queries and token requests. A value
/// may contain bytes that should have been escaped, since some apps send their redirect address
/// unescaped.
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

    /// Whether a name occurs more than once, so that its value is ambiguous.
    func isRepeated(_ name: String) -> Bool {
        pairs.count { $0.name.utf8.elementsEqual(name.utf8) } > 1
    }

    /// Returns the pairs as a text, escaped and joined with `&`.
    package static func encode(_ pairs: [(String, String)]) -> String {
        pairs.map { PercentEncoding.encode($0.0.utf8) + "=" + PercentEncoding.encode($0.1.utf8) }
            .joined(separator: "&")
    }
}

extension ClientCall {
    /// Returns the `Set-Cookie` field for a cookie of this client, with the attributes in the order
    /// that apps' own tests compare. `isHidden` hides the cookie from scripts.
    func cookie(_ name: String, _ value: String, seconds: Int64, isHidden: Bool = true) -> Field {
        let end = now.microseconds / 1_000_000 + seconds
        var text = "\(name)=\(value); Max-Age=\(seconds); Path=\(cookiePath); "
        text += "Expires=\(HTTPDate.text(end))"
        if isHidden { text += "; HttpOnly" }
        if request.isTLS { text += "; Secure" }
        return Field("set-cookie", text + "; SameSite=Lax")
    }

    /// Returns the `Set-Cookie` field that removes a cookie of this client.
    func clearedCookie(_ name: String) -> Field {
        Field("set-cookie", "\(name)=; Path=\(cookiePath); Expires=Thu, 01 Jan 1970 00:00:00 GMT")
    }
}
