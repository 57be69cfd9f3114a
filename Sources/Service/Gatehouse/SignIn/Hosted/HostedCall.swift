import API
import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// A request to the hosted sign-in pages of a tenant, or of the platform if no tenant is named.
struct HostedCall: Sendable {
    let client: ClientCall
    let path: String

    /// Creates the call; throws 404 for an unknown tenant.
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

    /// Begins a sign-in: redirects the browser to the provider that the form names.
    func begin() async throws -> Response {
        let form = FormText(String(decoding: client.request.body, as: UTF8.self))
        guard let id = form.first("provider").flatMap({ UUID($0) }) else {
            throw SignInRefusal.noProvider
        }
        return try await redirect(to: id, byGrant: try await HostedGrant.hash(in: form, client))
    }

    /// Returns a redirect (303) to the provider. If the person signed in there more than `seconds`
    /// ago, the provider asks them again.
    func redirect(
        to provider: UUID, bringing token: BroughtToken? = nil, byGrant grant: [UInt8]? = nil,
        maxAge seconds: Int64? = nil
    ) async throws -> Response {
        let (url, cookie) = try await begin(
            at: provider, bringing: token, byGrant: grant, maxAge: seconds)
        return Response(
            303, fields: [Field("location", url), cookie, Field("cache-control", "no-store")])
    }

    /// Begins a sign-in at the provider. Returns the URL to redirect to, and a cookie. The
    /// browser's return from the provider is accepted only with this cookie. `token` is the token
    /// of the invite or join link on whose page the sign-in begins.
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
    /// Creates the call of the hosted pages, which act as a client that every tenant has.
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

    /// Returns the address to which the invite or the join link leads in the end; `nil` if there is
    /// none.
    func returnAddress(of token: BroughtToken?) async throws -> String? {
        guard let token else { return nil }
        return try await scope.returnAddress(of: token)
    }

    /// Returns every provider at which an account may sign in. To prove that an account is theirs,
    /// people may also use providers that the sign-in page does not offer.
    func provingProviders() async throws -> [ProviderRow] {
        try await database.signInProviders(near: tenant.id)
    }
}

/// A cookie of the hosted pages. Under TLS its name has a prefix, so that another host of the same
/// domain cannot set it and have a user continue someone else's sign-in. On plain http, browsers
/// refuse that prefix.
struct HostedCookie: Sendable {
    /// The cookie that proves, at the return from a provider, that this browser began the sign-in.
    static let state = HostedCookie(plainName: "gatehouse_sign_in")
    /// The cookie that proves, at an operator's return from a provider, that this browser began the
    /// sign-in.
    static let `operator` = HostedCookie(plainName: "gatehouse_operator")
    static let held = HostedCookie(plainName: "gatehouse_held")
    /// The cookie that keeps a link grant while the browser is at the provider.
    static let grant = HostedCookie(plainName: "gatehouse_grant")
    static let seconds: Int64 = 600

    private let plainName: String

    func value(in request: Request) -> String? { RequestCookie.value(name(request), in: request) }

    /// Returns the `Set-Cookie` field. The cookie lasts ten minutes; if `value` is nil, the field
    /// removes the cookie.
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
