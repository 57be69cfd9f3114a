import API
import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// A request to the pages of a tenant, or to those of the platform if none is named.
struct HostedCall: Sendable {
    let client: ClientCall
    let path: String

    /// 404 for an unknown tenant.
    init(_ call: Call, _ tenant: String?) async throws {
        var row = TenantRow.platform(named: "Gatehouse", at: call.now)
        if let tenant {
            guard let found = try await call.database.tenant(tenant), found.status != .deleted
            else { throw Problem.notFound("page") }
            row = found
        }
        self.init(call, row)
        if row.status == .suspended { throw SignInRefusal.tenantSuspended }
    }

    init(_ call: Call, _ tenant: TenantRow, provider: UUID? = nil) {
        client = ClientCall(hosted: call, tenant: tenant, provider: provider)
        path =
            tenant.id == .platform
            ? HostedSignIn.platformPath : "/t/\(tenant.slug)\(HostedSignIn.platformPath)"
    }

    func show() async throws -> Response {
        if let page = try await HostedGrant.page(self) { return page }
        var page = HostedPage("Sign in", in: client)
        let providers = try await client.database.offeredProviders(of: client.tenant.id)
        if providers.isEmpty { page.warn("No provider is set up yet. Ask your administrator.") }
        page.providers(providers, to: path)
        page.takesGrant(at: HostedGrant.path)
        return page.response()
    }

    /// Redirects the browser to the provider.
    func begin() async throws -> Response {
        let form = FormText(String(decoding: client.request.body, as: UTF8.self))
        guard let id = form.first("provider").flatMap({ UUID($0) }) else {
            throw SignInRefusal.noProvider
        }
        return try await redirect(to: id, byGrant: try await HostedGrant.hash(in: form, client))
    }

    /// 303 to the provider. A person who signed in there more than `seconds` ago is asked again.
    func redirect(
        to provider: UUID, bringing token: BroughtToken? = nil, byGrant grant: [UInt8]? = nil,
        maxAge seconds: Int64? = nil
    ) async throws -> Response {
        let (url, cookie) = try await begin(
            at: provider, bringing: token, byGrant: grant, maxAge: seconds)
        return Response(
            303, fields: [Field("location", url), cookie, Field("cache-control", "no-store")])
    }

    /// The redirect URL, and the cookie that binds the return to this browser. `token` is the token
    /// of the page on which the sign-in begins.
    func begin(
        at provider: UUID, bringing token: BroughtToken? = nil, byGrant grant: [UInt8]? = nil,
        maxAge: Int64? = nil
    ) async throws -> (String, Field) {
        let chosen = HostedCall(client.call, client.tenant, provider: provider).client
        guard let row = try await chosen.provider() else { throw SignInRefusal.noProvider }
        let state = "\(TokenSecret.make()).\(client.tenant.id)"
        var wish = LoginWish(
            redirectURI: chosen.returnAddress(of: row), state: state, isBrowsers: true,
            token: token, maxAge: maxAge)
        wish.grantHash = grant
        let begun = try await chosen.beginLogin(wish)
        let cookie = HostedCookie.state.field(
            "\(state).\(begun.browser ?? "")", for: chosen.request)
        return (begun.url, cookie)
    }
}

extension ClientCall {
    /// The hosted pages act as a client that every tenant has.
    init(hosted call: Call, tenant: TenantRow, provider: UUID?) {
        var row = ClientRow(unset: HostedSignIn.contract.name)
        row.enabled = true
        row.redirectURIs = HostedSignIn.returnAddresses(
            of: tenant, at: call.application.publicURL)
        if let provider {
            row.settings = .object([.init("provider", .string(provider.description))])
        }
        self.init(call, row, of: tenant, HostedSignIn.contract)
    }

    func returnAddress(of provider: ProviderRow) -> String {
        client.redirectURIs[provider.tenantID == nil ? 0 : 1]
    }

    /// Where the page of the invite or the join link leads in the end; `nil` if nowhere.
    func returnAddress(of token: BroughtToken?) async throws -> String? {
        guard let token else { return nil }
        return try await scope.returnAddress(of: token)
    }

    /// Every provider that an account may use: proof of ownership is not limited to the offered
    /// ones.
    func provingProviders() async throws -> [ProviderRow] {
        try await database.signInProviders(near: tenant.id)
    }
}

/// A cookie of the hosted pages. Under TLS its prefix keeps a sibling host from setting cookies for
/// the whole domain, which could continue a user's sign-in as someone else's; on plain http,
/// browsers refuse that prefix.
struct HostedCookie: Sendable {
    /// Binds the return from a provider to the browser that began.
    static let state = HostedCookie(plainName: "gatehouse_sign_in")
    /// The same for an operator's sign-in to the console.
    static let `operator` = HostedCookie(plainName: "gatehouse_operator")
    static let held = HostedCookie(plainName: "gatehouse_held")
    /// A link grant on its way to the provider and back.
    static let grant = HostedCookie(plainName: "gatehouse_grant")
    static let seconds: Int64 = 600

    private let plainName: String

    func value(in request: Request) -> String? { RequestCookie.value(name(request), in: request) }

    /// Lasts ten minutes; removed if there is no value.
    func field(_ value: String?, for request: Request) -> Field {
        var text = "\(name(request))=\(value ?? ""); Path=/"
        text += "; Max-Age=\(value == nil ? 0 : Self.seconds); HttpOnly; SameSite=Lax"
        if request.isTLS { text += "; Secure" }
        return Field("set-cookie", text)
    }

    private func name(_ request: Request) -> String {
        request.isTLS ? "__Host-\(plainName)" : plainName
    }
}
