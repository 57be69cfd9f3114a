import API
import Cryptography
import Domain
import HTTP
import Storage
import Text

/// Pages for a link grant that an operator handed over. Its recipient proves an identity at a
/// provider, and this identity is then added to the account. The account is shown before the proof,
/// and again before the identity is added, because the grant may come from a stranger.
enum HostedGrant {
    static let path = "\(HostedSignIn.platformPath)/grant"

    /// Receives a grant that a person submits. The page has read the grant from its address, or the
    /// person has pasted it. The grant is not used up: the browser keeps it in a cookie for ten
    /// minutes and is redirected to the tenant's page.
    static func take(_ call: Call) async throws -> Response {
        let form = FormText(String(decoding: call.request.body, as: UTF8.self))
        guard let pasted = form.first(name).flatMap({ PastedLink($0) }) else { throw unusable }
        if let page = pasted.page, pasted.kind == .token {
            return redirect(
                to: "\(call.application.publicURL)\(page)#token=\(pasted.code)", cookie: nil)
        }
        guard let id = try await call.database.tenant(ofToken: pasted.code) else { throw unusable }
        let hosted = try await HostedCall(call, id.description)
        guard try await user(of: pasted.code, hosted.client) != nil else { throw unusable }
        return redirect(
            to: hosted.path, cookie: HostedCookie.grant.field(pasted.code, for: call.request))
    }

    private static func redirect(to address: String, cookie: Field?) -> Response {
        Response(
            303,
            fields: [Field("location", address)] + (cookie.map { [$0] } ?? [])
                + [Field("cache-control", "no-store")])
    }

    /// Returns the tenant's page for a browser that has a grant in its cookie; `nil` if the browser
    /// has no usable grant.
    static func page(_ hosted: HostedCall) async throws -> Response? {
        let client = hosted.client
        guard let token = try await held(client), let user = try await user(of: token, client)
        else { return nil }
        var page = HostedPage("Add a sign-in", in: client)
        page.say([
            "It is added to the account \(masked(user.email)).",
            "Sign in the way that you want to use for this account from now on.",
        ])
        page.providers(
            try await client.provingProviders(), to: hosted.path, [(name, mark(token, client))])
        if try await client.scope.client(ThinkWork.contract.name)?.enabled == true {
            let challenge = client.database.challenge(ofGrant: TenantToken.hash(token))
            page.say("If an app asks you for eight digits beside the link: \(challenge).")
        }
        page.say("If that is not your account, close the page.")
        return page.response()
    }

    /// Returns the hash of the grant on whose page the form was sent; `nil` for a form of another
    /// page. Throws `.stateUnknown` if the browser no longer has that grant.
    static func hash(in form: FormText, _ client: ClientCall) async throws -> [UInt8]? {
        guard let sent = form.first(name) else { return nil }
        guard let token = try await held(client), sameBytes(sent, mark(token, client)) else {
            throw SignInRefusal.stateUnknown
        }
        return TenantToken.hash(token)
    }

    /// Asks the person to confirm; called when they come back from the provider.
    static func ask(
        _ person: ProvedPerson, _ grant: [UInt8], _ client: ClientCall
    ) async throws -> Response {
        guard let user = try await client.scope.grantedUser(grant) else {
            return failed(usedUp, 404, client)
        }
        var next = PendingSignIn(person, tenant: client.tenant.id)
        next.grantHash = grant
        return try HostedSteps.confirm(next, as: masked(user.email), client)
    }

    /// Adds the identity to the account; called when the person has confirmed.
    static func use(
        _ grant: [UInt8], for person: ProvedPerson, _ client: ClientCall
    ) async throws -> Response {
        switch try await client.useLinkGrant(grant, for: person) {
        case .linked(let user), .again(let user):
            return HostedSteps.done(
                "\(person.provider.name) is added", as: user.email, client)
        case .conflict:
            return failed("The sign-in already belongs to another account.", 409, client)
        case .unknown, .used, .over, .refused: return failed(usedUp, 404, client)
        }
    }

    /// Returns the grant in the browser's cookie if it is for this tenant; otherwise `nil`.
    private static func held(_ client: ClientCall) async throws -> String? {
        guard let token = HostedCookie.grant.value(in: client.request),
            try await client.database.tenant(ofToken: token) == client.tenant.id
        else { return nil }
        return token
    }

    private static func user(of token: String, _ client: ClientCall) async throws -> UserRow? {
        try await client.scope.grantedUser(TenantToken.hash(token))
    }

    /// Returns a code for the form on the grant's page. It distinguishes this form from the forms
    /// of all other pages.
    private static func mark(_ token: String, _ client: ClientCall) -> String {
        let code = client.database.directory.authenticate(Array("grant \(token)".utf8))
        return Base64URL.encode(code)
    }

    /// Returns the address in a form such as `b…@acme.example`, which lets its owner recognise the
    /// account but does not tell others the address.
    static func masked(_ email: String) -> String {
        let parts = email.split(separator: "@", maxSplits: 1)
        let first = parts.first?.unicodeScalars.first.map { String($0) } ?? ""
        return parts.count == 2 ? "\(first)…@\(parts[1])" : "\(first)…"
    }

    /// Returns an error page, and removes the grant's cookie, so that the browser can sign in in
    /// another way.
    private static func failed(_ text: HostedText, _ status: Int, _ client: ClientCall) -> Response
    {
        var page = HostedPage("This did not work", in: client)
        page.warn(text)
        return page.response(status, cookies: [HostedCookie.grant.field(nil, for: client.request)])
    }

    private static let name = "grant"
    private static let usedUp: HostedText =
        "The link is used up or over. Ask your administrator for a new one."
    private static let unusable = Problem(.notFound, usedUp.said(in: .english))
}

/// What a person pasted: a one-time link, or only its code, possibly altered by a mail program.
struct PastedLink: Equatable {
    enum Kind: Equatable { case token, grant }

    /// The path of the page to which the link leads; `nil` if only a code was pasted.
    var page: String?
    var kind: Kind?
    var code: String

    /// Reads the pasted text; `nil` if it contains no code. Spaces, line breaks, punctuation around
    /// the code and percent-encoding are tolerated.
    init?(_ text: String) {
        var bytes = Array(text.utf8.prefix(4096))
        // A link may have been percent-encoded by the mail program and again by a redirect.
        for _ in 0..<3 { bytes = PercentEncoding.decode(bytes) ?? bytes }
        let plain = String(decoding: bytes, as: UTF8.self).unicodeScalars
        bytes = Array(String(plain.filter { !$0.properties.isWhitespace }).utf8)
        var rest = bytes[...]
        for (sign, kind) in [("token=", Kind.token), ("grant=", .grant)] {
            let sign = Array(sign.utf8)
            guard
                let start = bytes.indices.first(where: { bytes[$0...].starts(with: sign) })
            else { continue }
            self.kind = kind
            page = Self.pages.first {
                bytes[..<start].reversed().starts(with: "\($0)#".utf8.reversed())
            }
            rest = bytes[(start + sign.count)...]
            break
        }
        let code = rest.drop { !Self.isPart($0) }.prefix(while: Self.isPart)
        guard (20...128).contains(code.count) else { return nil }
        self.code = String(decoding: code, as: UTF8.self)
    }

    /// Whether the byte can be part of a code, which is base64url (RFC 4648 section 5).
    private static func isPart(_ byte: UInt8) -> Bool {
        byte == 0x2D || byte == 0x5F || ASCII.isLowerOrDigit(ASCII.lower(byte))
    }

    /// The paths of the pages to which one-time links lead, except link grants.
    private static let pages = [
        "/invite", "/join", "/reset", "/email", "/not-me", "/console/sign-in",
    ]
}
