import API
import Cryptography
import Domain
import Federation
import HTTP
import JSON
import Storage
import Text

/// Pages for questions that no app can ask: which tenant to join, and whether a second identity is
/// to be added to an existing account. They begin no session.
package enum HostedSignIn {
    package static func endpoints(_ core: SignInCore) -> [Endpoint] {
        [
            endpoint(.get, platformPath, core) { try await HostedCall($0, nil, core).show() },
            endpoint(.post, platformPath, core) { try await HostedCall($0, nil, core).begin() },
            endpoint(.get, tenantPath, core) { call in
                try await HostedCall(call, call.parameter("tenant"), core).show()
            },
            endpoint(.post, tenantPath, core) { call in
                try await HostedCall(call, call.parameter("tenant"), core).begin()
            },
            endpoint(.get, callback, core) { try await HostedReturn.end($0, core) },
            endpoint(.get, "/t/{tenant}\(callback)", core) { try await HostedReturn.end($0, core) },
            endpoint(.post, "\(platformPath)/tenant", core) {
                try await HostedSteps.choose($0, core)
            },
            endpoint(.post, "\(platformPath)/password", core) {
                try await HostedSteps.prove($0, core)
            },
            endpoint(.post, "\(platformPath)/link", core) {
                try await HostedSteps.link($0, core)
            },
            endpoint(.post, "\(platformPath)/grant", core) {
                try await HostedGrant.take($0, core)
            },
        ]
    }

    /// Begins the sign-in of an invite's holder at a provider, for the acceptance page.
    package static func joining(_ core: SignInCore) -> Services.Joining {
        { call, tenant, provider, invite in
            try requireOwnPage(call.request, core)
            do {
                return try await HostedCall(call, tenant, core).begin(at: provider, invite: invite)
            } catch let refusal as SignInRefusal {
                throw refusal.recorded
            }
        }
    }

    static let platformPath = "/sign-in"
    private static let tenantPath = "/t/{tenant}/sign-in"
    /// The callback of the platform's providers for all tenants; a tenant's own have one below the
    /// tenant, so that no provider can pass off another's response (RFC 9700 section 4.4.2).
    private static let callback = "\(platformPath)/callback"

    /// The callback of the platform's providers, and that of the tenant's.
    static func returnAddresses(of tenant: TenantRow, _ core: SignInCore) -> [String] {
        [core.publicURL + callback, "\(core.publicURL)/t/\(tenant.slug)\(callback)"]
    }

    static let contract = Contract(
        name: "hosted", routes: [], encode: { $0.response(requestID: $1.id) })

    private static func endpoint(
        _ method: HTTP.Method, _ path: String, _ core: SignInCore,
        handle: @escaping @Sendable (Call) async throws -> Response
    ) -> Endpoint {
        var endpoint = Endpoint(
            method, path, id: "hosted \(method.rawValue) \(path)", tag: "Clients", summary: "",
            access: .open, body: .raw(["application/x-www-form-urlencoded"]), answers: [],
            maxBody: 1 << 14
        ) { call in
            do {
                if method == .post { try requireOwnPage(call.request, core) }
                return try await handle(call)
            } catch let refusal as SignInRefusal {
                return refusal.recorded.page(core)
            } catch let problem as Problem {
                return problem.page(core)
            }
        }
        endpoint.isForeign = true
        return endpoint
    }

    /// Refuses a form from another site (Fetch Metadata; else the origin).
    private static func requireOwnPage(_ request: Request, _ core: SignInCore) throws {
        if let site = request.first("sec-fetch-site") {
            guard site == "same-origin" else { throw Problem.forbidden(foreign) }
        } else if let origin = request.first("origin"), !sameBytes(origin, core.publicURL) {
            throw Problem.forbidden(foreign)
        }
    }

    private static let foreign = "The form came from another page."
}

/// A request to the pages of a tenant, or of the platform if none is named.
struct HostedCall: Sendable {
    let client: ClientCall
    let path: String

    /// 404 for an unknown tenant.
    init(_ call: Call, _ tenant: String?, _ core: SignInCore) async throws {
        var row = TenantRow.platform(named: "Gatehouse", at: call.now)
        if let tenant {
            guard let found = try await core.database.tenant(tenant), found.status != .deleted
            else { throw Problem.notFound("page") }
            row = found
        }
        self.init(call, row, core)
        if row.status == .suspended { throw SignInRefusal.tenantSuspended }
    }

    init(_ call: Call, _ tenant: TenantRow, _ core: SignInCore, provider: UUID? = nil) {
        client = ClientCall(hosted: call, tenant: tenant, provider: provider, core)
        path =
            tenant.id == .platform
            ? HostedSignIn.platformPath : "/t/\(tenant.slug)\(HostedSignIn.platformPath)"
    }

    func show() async throws -> Response {
        if let page = try await HostedGrant.page(self) { return page }
        var page = HostedPage("Sign in", of: client.tenant.name)
        page.takesGrant(at: "\(HostedSignIn.platformPath)/grant")
        let providers = try await client.core.database.offeredProviders(of: client.tenant.id)
        if providers.isEmpty { page.warn("No provider is set up yet. Ask your administrator.") }
        page.providers(providers, to: path)
        return page.response()
    }

    /// Redirects the browser to the provider.
    func begin() async throws -> Response {
        let form = FormText(String(decoding: client.request.body, as: UTF8.self))
        guard let id = form.first("provider").flatMap({ UUID($0) }) else {
            throw SignInRefusal.noProvider
        }
        let (url, cookie) = try await begin(at: id)
        return Response(
            303, fields: [Field("location", url), cookie, Field("cache-control", "no-store")])
    }

    /// The redirect URL, and the cookie that binds the return to this browser. `invite`: the hash
    /// of the invite's token.
    func begin(at provider: UUID, invite: [UInt8]? = nil) async throws -> (String, Field) {
        let chosen = HostedCall(client.call, client.tenant, client.core, provider: provider).client
        guard let row = try await chosen.provider() else { throw SignInRefusal.noProvider }
        let state = "\(TokenSecret.make()).\(client.tenant.id)"
        let begun = try await chosen.beginLogin(
            LoginWish(
                redirectURI: chosen.returnAddress(of: row), state: state, isBrowsers: true,
                invite: invite))
        let cookie = HostedCookie.state.field(
            "\(state).\(begun.browser ?? "")", for: chosen.request)
        return (begun.url, cookie)
    }
}

extension ClientCall {
    /// The hosted pages act as a client that every tenant has.
    init(hosted call: Call, tenant: TenantRow, provider: UUID?, _ core: SignInCore) {
        var row = ClientRow(unset: HostedSignIn.contract.name)
        row.enabled = true
        row.redirectURIs = HostedSignIn.returnAddresses(of: tenant, core)
        if let provider {
            row.settings = .object([.init("provider", .string(provider.description))])
        }
        self.init(call, row, of: tenant, HostedSignIn.contract, core)
    }

    func returnAddress(of provider: ProviderRow) -> String {
        client.redirectURIs[provider.tenantID == nil ? 0 : 1]
    }

    /// Every provider of an account: proof of ownership is not limited to the offered ones.
    func provingProviders() async throws -> [ProviderRow] {
        try await core.database.signInProviders(near: tenant.id)
    }
}

extension Problem {
    /// An error page with the problem's text, without its code.
    fileprivate func page(_ core: SignInCore) -> Response {
        var page = HostedPage("This did not work", of: "Gatehouse")
        page.warn(detail)
        page.say("Go back and begin again. If it goes on, ask your administrator.")
        var answer = page.response(status)
        answer.fields += fields.filter { $0.name == "retry-after" }
        return answer
    }
}
