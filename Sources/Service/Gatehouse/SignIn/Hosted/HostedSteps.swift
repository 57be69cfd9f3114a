import API
import Cryptography
import Domain
import HTTP
import Storage
import Text

/// The steps after a person was proved at a provider: the questions to the person, and their
/// results.
enum HostedSteps {
    /// Runs the rules, and asks the person what the rules leave open. `token` is the token of an
    /// invite or a join link; if it does not admit the person, the page explains why.
    static func settle(
        _ person: ProvedPerson, _ client: ClientCall, bringing token: BroughtToken? = nil
    ) async throws -> Response {
        let asked = client.tenant.id == .platform ? nil : client.tenant.id
        let result = try await client.decide(person, in: asked, bringing: token)
        if !result.choices.isEmpty, asked == nil {
            // The rules do not count an existing membership as a choice, but the person can choose
            // it.
            let own = [result.verdict.maySignIn ? result.tenant : nil].compactMap(\.self)
            return try choose(person, own + result.choices, client)
        }
        guard !result.verdict.maySignIn else {
            return done(
                "You are signed up", as: result.user?.email, client, in: result.tenant,
                to: try await client.returnAddress(of: token))
        }
        let reason = result.publicReason
        if token != nil, reason != .identityLinkRequired {
            throw UnacceptedInvite.problem(reason, reference: result.reference)
        }
        guard reason == .identityLinkRequired, let tenant = result.tenant else {
            throw SignInRefusal.refused(reason, reference: result.reference)
        }
        return try await askForProof(person, HostedCall(client.call, tenant).client)
    }

    private static func choose(
        _ person: ProvedPerson, _ tenants: [TenantRow], _ client: ClientCall
    ) throws -> Response {
        let held = try PendingSignIn(person, tenant: .platform).sealed(by: client.application)
        var page = HostedPage("Where do you want to go?", in: client)
        page.choice(
            "More than one organisation knows you.", "tenant",
            tenants.map { ($0.id.description, $0.name) },
            to: "\(HostedSignIn.platformPath)/tenant", [token(held, client)])
        return page.response(cookies: [HostedCookie.held.field(held, for: client.request)])
    }

    /// Returns a page that asks the person to prove that the account with this address is theirs:
    /// only its owner may add an identity to it.
    private static func askForProof(
        _ person: ProvedPerson, _ client: ClientCall
    ) async throws -> Response {
        let held = try PendingSignIn(person, tenant: client.tenant.id).sealed(
            by: client.application)
        var page = HostedPage("Is this your account?", in: client)
        page.say(
            """
            There is an account with the address \(person.email ?? "") already. Sign in the way that \
            you did before; then \(person.provider.name) can be added to it.
            """)
        page.providers(
            try await client.provingProviders().filter { $0.id != person.provider.id },
            to: "/t/\(client.tenant.slug)\(HostedSignIn.platformPath)")
        if let email = person.email {
            page.passwordForm(
                of: email, to: "\(HostedSignIn.platformPath)/password",
                [token(held, client)])
        }
        return page.response(cookies: [HostedCookie.held.field(held, for: client.request)])
    }

    /// Asks the person to confirm that the identity and the account, both proved now, belong
    /// together.
    static func confirm(
        _ held: PendingSignIn, _ user: UserRow, _ client: ClientCall
    ) throws -> Response {
        var next = held
        next.user = user.id
        return try confirm(next, as: user.email, client)
    }

    /// Asks the person to confirm that the identity belongs to the account. The text `account`
    /// names the account on the page.
    static func confirm(
        _ next: PendingSignIn, as account: String, _ client: ClientCall
    ) throws -> Response {
        let sealed = try next.sealed(by: client.application)
        let provider = next.person.provider.name
        var page = HostedPage("Add \(provider)?", in: client)
        if let email = next.person.email {
            page.say("\(provider) as \(email) will sign you in as \(account).")
        } else {
            page.say("\(provider) will sign you in as \(account).")
        }
        page.button(
            "Add \(provider)", to: "\(HostedSignIn.platformPath)/link",
            [token(sealed, client)])
        page.say("If you did not ask for this, close the page.")
        return page.response(cookies: [HostedCookie.held.field(sealed, for: client.request)])
    }

    static func done(
        _ title: HostedText, as email: String?, _ client: ClientCall, in tenant: TenantRow? = nil,
        to address: String? = nil
    ) -> Response {
        var page = HostedPage(title, in: client, of: tenant)
        let known = email.map { ["You are known as \($0)." as HostedText] } ?? []
        page.say(known + ["Go back to your app and sign in there."])
        if let address { page.link("Go to the app", to: address) }
        return page.response(cookies: [
            HostedCookie.held.field(nil, for: client.request),
            HostedCookie.state.field(nil, for: client.request),
            HostedCookie.grant.field(nil, for: client.request),
        ])
    }

    static func choose(_ call: Call) async throws -> Response {
        let (held, form) = try await held(call)
        let hosted = try await HostedCall(call, form.first("tenant") ?? "")
        return try await settle(held.person, hosted.client)
    }

    static func prove(_ call: Call) async throws -> Response {
        let (held, form) = try await held(call)
        let hosted = try await HostedCall(call, held.tenant.description)
        let (user, _) = try await hosted.client.user(
            email: held.person.email ?? "", password: form.first("password") ?? "",
            device: ReportedDevice(type: "browser"))
        return try confirm(held, user, hosted.client)
    }

    static func link(_ call: Call) async throws -> Response {
        let (held, _) = try await held(call)
        let client = try await HostedCall(call, held.tenant.description).client
        if let grant = held.grantHash {
            return try await HostedGrant.use(grant, for: held.person, client)
        }
        guard let id = held.user, let user = try await client.scope.user(id),
            user.status == .active
        else { throw SignInRefusal.stateUnknown }
        do {
            try await client.link(held.person, to: user)
        } catch let StorageFailure.conflict(_, _, holder) where holder == user.id {
            // The account has the identity already, because the form was sent twice. This is no
            // error.
        } catch StorageFailure.conflict {
            throw Problem(
                .reason(.identityConflict), "The sign-in already belongs to another account.")
        }
        return done(
            "\(held.person.provider.name) is added", as: user.email,
            client)
    }

    /// Returns the person in the browser's cookie and the sent form; throws unless the form was
    /// made for this cookie.
    private static func held(
        _ call: Call
    ) async throws -> (PendingSignIn, FormText) {
        let form = FormText(String(decoding: call.request.body, as: UTF8.self))
        guard let held = try await PendingSignIn(call),
            let cookie = HostedCookie.held.value(in: call.request),
            let sent = form.first("token").flatMap({ Base64URL.decode($0) }),
            call.database.directory.made(sent, of: tied(to: cookie))
        else { throw SignInRefusal.stateUnknown }
        return (held, form)
    }

    /// Returns a form field that is derived from the cookie, so that another site's page cannot
    /// make the form.
    private static func token(_ held: String, _ client: ClientCall) -> (String, String) {
        ("token", Base64URL.encode(client.database.directory.authenticate(tied(to: held))))
    }

    private static func tied(to held: String) -> [UInt8] { Array("form \(held)".utf8) }
}
