import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The sign-in and step-up of operators at a provider of the platform: a redirect to the provider,
/// and the return from it. The session's cookie is `SameSite=Strict`, so browsers do not send it
/// with the return. Instead, the stored state names the session to step up, and a separate cookie
/// shows that it is the same browser.
enum OperatorLogin {
    static let endpoints: [Endpoint] = [signIn, stepUp, callback]

    /// The path that the provider redirects back to.
    private static let returnPath = "/v1/session/provider/callback"

    private static let redirect = Answer(
        303,
        summary: "Redirects to the provider or to the console; after an error, to the sign-in page."
    ).with(.location)

    private static let signIn = Endpoint(
        .get, "/v1/session/provider", id: "beginProviderSignIn", tag: "Session",
        summary: "Redirects a browser to the provider at which operators sign in.", access: .open,
        answers: [redirect], problems: [.conflict, .rateLimited, .unavailable]
    ) { call in try await begin(call, session: nil) }

    private static let stepUp = Endpoint(
        .get, "/v1/session/step-up/provider", id: "beginProviderStepUp", tag: "Session",
        summary:
            "Redirects a browser to the provider for a step-up of the calling session. The "
            + "provider must ask the operator to sign in again.",
        access: .console, answers: [redirect],
        problems: [.conflict, .unavailable]
    ) { call in
        guard try await call.operator.factors.stepUpMethods.contains(.provider) else {
            throw Problem(.conflict, "This session cannot be stepped up at a provider.")
        }
        return try await begin(call, session: call.principal.session)
    }

    private static let callback: Endpoint = {
        var endpoint = Endpoint(
            .get, returnPath, id: "endProviderSignIn", tag: "Session",
            summary: "Receives the redirect from the provider, and redirects to the console with a "
                + "session.",
            access: .open, answers: [redirect], problems: [.unavailable]
        ) { call in
            do {
                let assertion = try await recorded(call) {
                    try await OperatorLogin.assertion(at: call)
                }
                var answer = try await end(assertion, call)
                answer.fields.append(assertion.spentCookie)
                return answer
            } catch let problem as Problem {
                throw problem.status == 303 ? problem : problem.atDoor()
            } catch let failure as StorageFailure {
                throw Problem(.conflict, "\(failure)").atDoor()
            }
        }
        endpoint.isForeign = true
        return endpoint
    }()

    private static let own: Set<String> = ["same-origin", "none"]

    private static func begin(_ call: Call, session: UUID?) async throws -> Response {
        do {
            guard let setting = try await call.database.operatorSignIn() else {
                throw Problem(.conflict, "Operators do not sign in at a provider on this server.")
            }
            // Refuses a request from another site, which could otherwise make a browser sign in at
            // a provider that asks its user nothing.
            guard call.request.first("sec-fetch-site").map({ Self.own.contains($0) }) ?? true else {
                throw Problem.forbidden("Start from this server's own sign-in page.")
            }
            let device = TokenCookie.device.token(in: call.request)
            let begun = try await recorded(call) {
                try await client(call, at: setting.provider).beginLogin(
                    LoginWish(
                        redirectURI: call.application.publicURL + returnPath, isBrowsers: true,
                        operatorSession: session,
                        maxAge: session == nil ? OperatorSession.recentSeconds : 0))
            }
            let held = [begun.state, begun.browser ?? ""] + (device.map { [$0] } ?? [])
            return .seeOther(
                begun.url,
                [HostedCookie.operator.field(held.joined(separator: "."), for: call.request)])
        } catch let problem as Problem where call.isFromBrowser {
            throw problem.atDoor()
        }
    }

    private static func end(_ assertion: OperatorAssertion, _ call: Call) async throws -> Response {
        guard let setting = try await call.database.operatorSignIn(),
            setting.provider == assertion.provider.id
        else { throw Refused.noProvider.problem }
        let bound = try await call.database.operatorRow(
            issuer: assertion.provider.issuer, subject: assertion.subject)
        if let session = assertion.session {
            guard let person = bound else { throw Refused.otherPerson.problem }
            return try await end(stepUp: session, of: person, assertion, call)
        }
        let person: OperatorRow
        if let bound {
            person = bound
        } else {
            person = try await bind(assertion, setting, call)
        }
        guard person.status != .suspended else { throw Refused.unknown.problem }
        try await SessionEndpoints.checkTenant(of: person, call)
        let recent = call.now.adding(seconds: -OperatorSession.recentSeconds)
        return try await ConsoleSession.begin(
            person, by: assertion.method, at: setting.provider,
            isFresh: assertion.isAuthenticated(since: recent, at: call.now) ?? !assertion.saysWhen,
            call,
            in: assertion.device, answering: .seeOther("/console/sign-in#signed-in"))
    }

    private static func end(
        stepUp session: UUID, of person: OperatorRow, _ assertion: OperatorAssertion, _ call: Call
    ) async throws -> Response {
        guard person.status != .suspended, person.factors.stepUpMethods.contains(.provider) else {
            throw Refused.otherPerson.problem
        }
        // `max_age=0` asks for a new sign-in. A provider that ignores `max_age` reports an old
        // time, or none.
        guard assertion.isAuthenticated(since: assertion.begunAt, at: call.now) ?? false else {
            throw Refused.notAnew.problem
        }
        let stamped = try await ConsoleSession.stepUp(
            person, in: session, by: assertion.method, at: assertion.provider.id, call,
            answering: .seeOther("/console/sign-in#stepped-up"))
        guard let stamped else { throw Refused.otherPerson.problem }
        return stamped
    }

    /// Finds the operator at the first sign-in with this account, and binds the account to them.
    /// The provider must be authoritative for the address, and the operator must have confirmed
    /// that the address is theirs: a tenant's claim is not enough.
    private static func bind(
        _ assertion: OperatorAssertion, _ setting: OperatorSignIn, _ call: Call
    ) async throws -> OperatorRow {
        guard let address = assertion.ownedAddress(in: setting),
            let person = try await call.database.confirmedOperator(emailKey: address.key),
            person.status != .suspended
        else { throw Refused.unknown.problem }
        let (provider, publicURL) = (assertion.provider, call.application.publicURL)
        try await call.database.scope(person.tenant ?? .platform).change(
            by: person.actor(call)
        ) { change in
            guard
                try await change.bind(
                    person, issuer: provider.issuer, subject: assertion.subject,
                    provider: provider.name)
            else { return }
            try await change.tellOfChange(
                "a sign-in at \(provider.name) was added", added: .provider, to: person,
                publicURL: publicURL)
        }
        // If there are two first sign-ins at the same time, one binds the account, and both find it
        // bound here.
        let bound = try await call.database.operatorRow(
            issuer: provider.issuer, subject: assertion.subject)
        guard let bound, bound.id == person.id else { throw Refused.unknown.problem }
        return bound
    }

    /// Why the browser's return from the provider did not lead to a session. The sign-in page
    /// explains the reason.
    private enum Refused: String {
        /// No operator is bound to the account or has its address, or the operator is suspended.
        case unknown
        /// The session that was to be stepped up belongs to another person than the account, has
        /// ended, or cannot be stepped up at a provider.
        case otherPerson = "other_person"
        /// The provider did not ask its user to sign in again.
        case notAnew = "not_anew"
        case noProvider = "no_provider"

        var problem: Problem { Problem.unauthorized().atDoor(rawValue) }
    }

    /// Verifies the parameters with which the browser returns from the provider, and returns what
    /// the provider asserts.
    private static func assertion(at call: Call) async throws -> OperatorAssertion {
        let answer = try LoginReturn(call, by: .operator, at: call.application.publicURL)
        let (person, begun) = try await client(call).proveLogin(answer)
        return OperatorAssertion(
            provider: person.provider, subject: person.subject, email: person.email,
            emailVerified: person.emailVerified, hostedDomain: person.hostedDomain,
            authenticatedAt: person.authenticatedAt, isMultiFactor: person.isMultiFactor,
            session: begun.operatorSession, begunAt: begun.begunAt ?? call.now,
            device: answer.device,
            spentCookie: HostedCookie.operator.field(nil, for: call.request))
    }

    /// Returns a call in which the console is a client of the platform, as an app is a client of
    /// its tenant.
    private static func client(_ call: Call, at provider: UUID? = nil) -> ClientCall {
        var row = ClientRow(unset: contract.name)
        row.enabled = true
        row.redirectURIs = [call.application.publicURL + returnPath]
        if let provider {
            row.settings = .object([.init("provider", .string(provider.description))])
        }
        return ClientCall(call, row, of: .platform(named: "Gatehouse", at: call.now), contract)
    }

    private static let contract = Contract(
        name: "console", routes: [], encode: { $0.response(requestID: $1.id) })

    private static func recorded<Result>(
        _ call: Call, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let refusal as SignInRefusal {
            throw await client(call).explained(
                refusal.recorded, at: "\(call.request.method.rawValue) \(call.request.path)")
        }
    }
}

/// What a provider of the platform asserts about a person who signs in to the console.
private struct OperatorAssertion: Sendable {
    var provider: ProviderRow
    var subject: String
    var email: String?
    /// The provider's claim that the address is verified; `nil` if there is no such claim, which
    /// differs from false.
    var emailVerified: Bool?
    /// Google's claim `hd`: the organization's domain.
    var hostedDomain: String?
    /// When the person signed in at the provider, in seconds since 1970; `nil` if the provider does
    /// not say.
    var authenticatedAt: Int64?
    /// Whether the provider said that the person used two factors.
    var isMultiFactor: Bool
    /// The console session that is to be stepped up; `nil` for a sign-in.
    var session: UUID?
    var begunAt: Timestamp
    /// The token of the browser's device cookie, kept from the beginning of the sign-in: at the
    /// return from another site, browsers do not send that cookie.
    var device: String?
    /// The `Set-Cookie` field that removes the cookie of this sign-in.
    var spentCookie: Field

    var method: SignInMethod { isMultiFactor ? .providerMFA : .provider }

    /// Whether a provider of this kind says when its user signed in, if `max_age` is sent.
    var saysWhen: Bool { provider.kind == "oidc" }

    /// The most seconds by which the provider's clock may be ahead or behind.
    private static let clockSkew: Int64 = 60

    /// Returns whether the user signed in at the provider at this time or later, and not in the
    /// future; `nil` if the provider does not say.
    func isAuthenticated(since time: Timestamp, at now: Timestamp) -> Bool? {
        authenticatedAt.map {
            $0 >= time.microseconds / 1_000_000 - Self.clockSkew
                && $0 <= now.microseconds / 1_000_000 + Self.clockSkew
        }
    }

    /// Returns the asserted address if the provider is authoritative for it; otherwise `nil`.
    func ownedAddress(in setting: OperatorSignIn) -> EmailAddress? {
        guard let address = email.flatMap({ try? EmailAddress($0) }),
            setting.covers(address.domain.ascii),
            provider.isAuthoritative(
                for: address.domain.ascii, emailVerified: emailVerified, hostedDomain: hostedDomain)
        else { return nil }
        return address
    }
}

extension Response {
    fileprivate static func seeOther(_ url: String, _ more: [Field] = []) -> Response {
        Response(
            303, fields: [Field("location", url), Field("cache-control", "no-store")] + more)
    }
}

extension Problem {
    /// Returns the problem as a redirect to the sign-in page, which explains it. The fault is in
    /// the fragment of the URL, which browsers send to no server.
    fileprivate func atDoor(_ fault: String? = nil) -> Problem {
        var problem = self
        problem.status = 303
        problem.cause = cause ?? "operator's sign-in: \(fault ?? code.rawValue)"
        problem.fields = [
            Field("location", "/console/sign-in#fault=\(fault ?? code.rawValue)"),
            Field("cache-control", "no-store"),
        ]
        return problem
    }
}

extension Call {
    /// Whether a browser opens the URL as a page. It must then be shown a page, not a problem
    /// document.
    fileprivate var isFromBrowser: Bool {
        request.first("sec-fetch-mode").map { sameBytes($0, "navigate") } ?? false
    }
}
