import API
import Domain
import HTTP
import Storage
import Text

/// A link grant that an operator handed over: its recipient proves an identity at a provider, which
/// is then added to the account.
enum HostedGrant {
    /// The page posts the fragment (after `#`) of its address, which no server saw. Nothing is used
    /// up: the browser keeps it for ten minutes and is redirected to the tenant's page.
    static func take(_ call: Call, _ core: SignInCore) async throws -> Response {
        let form = FormText(String(decoding: call.request.body, as: UTF8.self))
        guard let token = form.first("grant"),
            let id = try await core.database.tenant(ofToken: token)
        else { throw unusable }
        let hosted = try await HostedCall(call, id.description, core)
        return Response(
            303,
            fields: [
                Field("location", hosted.path), HostedCookie.grant.field(token, for: call.request),
                Field("cache-control", "no-store"),
            ])
    }

    /// The tenant's page for a browser that holds a grant; nil without one.
    static func page(_ hosted: HostedCall) async throws -> Response? {
        let client = hosted.client
        guard try await held(client) != nil else { return nil }
        var page = HostedPage("Add a sign-in", in: client)
        page.say(
            "Sign in the way that you want to use from now on. It is then added to your account.")
        page.providers(try await client.provingProviders(), to: hosted.path)
        return page.response()
    }

    /// The grant in the browser's cookie for this tenant; nil for another tenant's.
    static func held(_ client: ClientCall) async throws -> String? {
        guard let token = HostedCookie.grant.value(in: client.request),
            try await client.core.database.tenant(ofToken: token) == client.tenant.id
        else { return nil }
        return token
    }

    static func use(
        _ token: String, for person: ProvedPerson, _ client: ClientCall
    ) async throws -> Response {
        switch try await client.useLinkGrant(token, for: person) {
        case .linked(let user), .again(let user):
            return HostedSteps.done(
                "\(person.provider.name) is added", as: user.email, client)
        case .conflict: return failed("The sign-in is another account's already.", 409, client)
        case .unknown, .used, .over, .refused: return failed(usedUp, 404, client)
        }
    }

    /// Clears the grant's cookie, so that the browser can sign in otherwise.
    private static func failed(_ text: HostedText, _ status: Int, _ client: ClientCall) -> Response
    {
        var page = HostedPage("This did not work", in: client)
        page.warn(text)
        return page.response(status, cookies: [HostedCookie.grant.field(nil, for: client.request)])
    }

    private static let usedUp: HostedText =
        "The link is used up or over. Ask your administrator for a new one."
    private static let unusable = Problem(.notFound, usedUp.said(in: .english))
}
