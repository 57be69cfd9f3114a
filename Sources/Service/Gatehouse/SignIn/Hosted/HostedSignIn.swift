import API
import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// Pages for questions that no app can ask: which tenant to join, and whether to add a second
/// identity to an existing account. They begin no session in an app.
enum HostedSignIn {
    static let endpoints: [Endpoint] = [
        endpoint(.get, platformPath) { try await HostedCall($0, nil).show() },
        endpoint(.post, platformPath) { try await HostedCall($0, nil).begin() },
        endpoint(.get, tenantPath) { call in
            try await HostedCall(call, call.parameter("tenant")).show()
        },
        endpoint(.post, tenantPath) { call in
            try await HostedCall(call, call.parameter("tenant")).begin()
        },
        endpoint(.get, callback) { try await HostedReturn.end($0) },
        endpoint(.get, "/t/{tenant}\(callback)") { try await HostedReturn.end($0) },
        endpoint(.post, "\(platformPath)/tenant") {
            try await HostedSteps.choose($0)
        },
        endpoint(.post, "\(platformPath)/password") {
            try await HostedSteps.prove($0)
        },
        endpoint(.post, "\(platformPath)/link") {
            try await HostedSteps.link($0)
        },
        endpoint(.post, HostedGrant.path) {
            try await HostedGrant.take($0)
        },
    ]

    static let platformPath = "/sign-in"
    private static let tenantPath = "/t/{tenant}/sign-in"
    /// The path of the callback for the platform's providers, for all tenants. A tenant's own
    /// providers have a separate callback, so that no provider can present its response as that of
    /// another provider (RFC 9700 section 4.4.2).
    private static let callback = "\(platformPath)/callback"

    /// Returns the addresses of both callbacks: first the callback of the platform's providers,
    /// then the callback of the tenant's own providers.
    static func returnAddresses(of tenant: TenantRow, at publicURL: String) -> [String] {
        [publicURL + callback, "\(publicURL)/t/\(tenant.slug)\(callback)"]
    }

    static let contract = Contract(
        name: "hosted", routes: [], encode: { $0.response(requestID: $1.id) })

    private static func endpoint(
        _ method: HTTP.Method, _ path: String,
        handle: @escaping @Sendable (Call) async throws -> Response
    ) -> Endpoint {
        var endpoint = Endpoint(
            method, path, id: "hosted \(method.rawValue) \(path)", tag: "Clients", summary: "",
            access: .open, body: .raw(["application/x-www-form-urlencoded"]), answers: [],
            maxBody: 1 << 14
        ) { call in
            var problem: Problem
            do {
                if method == .post { try requireOwnPage(call) }
                return try await handle(call)
            } catch let refusal as SignInRefusal {
                problem = refusal.recorded
            } catch let refused as Problem {
                problem = refused
            }
            let tenant = await tenant(of: call)
            let client = ClientCall(hosted: call, tenant: tenant, provider: nil)
            let reference = await client.noteFailure(&problem, at: "\(method.rawValue) \(path)")
            problem.page = problem.page(for: call, reference: reference)
            throw problem
        }
        endpoint.isForeign = true
        return endpoint
    }

    /// Returns the tenant whose operators can look up a refusal: the tenant named by the path, by
    /// the state or by the cookie, or else the platform. The request may name any tenant, so the
    /// result proves nothing.
    private static func tenant(of call: Call) async -> TenantRow {
        var name = try? call.parameter("tenant")
        if name == nil, let state = FormText(call.request.query).first("state") {
            name = state.utf8.split(separator: UInt8(ascii: ".")).last
                .map { String(decoding: $0, as: UTF8.self) }
        } else if name == nil, let held = try? await PendingSignIn(call) {
            name = held.tenant.description
        }
        if let name, let found = try? await call.database.tenant(name), found.status != .deleted {
            return found
        }
        return .platform(named: "Gatehouse", at: call.now)
    }

    /// Throws if a form was sent from another site, judged by Fetch Metadata or else by the origin.
    static func requireOwnPage(_ call: Call) throws {
        let request = call.request
        var refusal = Problem.forbidden(
            "The form was sent from another site; open this page and "
                + "send it again.")
        refusal.cause = SignInRefusal.causeStart + "foreign_form"
        if let site = request.first("sec-fetch-site") {
            guard site == "same-origin" else { throw refusal }
        } else if let origin = request.first("origin"),
            !sameBytes(origin, call.application.publicURL)
        {
            throw refusal
        }
    }
}

extension ClientCall {
    /// Returns the refusal with a reference to the stored failure, which has the reason.
    func explained(_ problem: Problem, at operation: String) async -> Problem {
        var problem = problem
        if let reference = await noteFailure(&problem, at: operation) {
            problem.detail += " (ref \(reference))"
        }
        return problem
    }
}

extension Problem {
    /// Returns an error page with the problem's text, without its code. `reference` is the
    /// reference of the stored failure.
    fileprivate func page(for call: Call, reference: String?) -> Response {
        var page = HostedPage("This did not work", in: HostedLanguage(call.request))
        page.warn(self)
        page.say("Go back and begin again. If it goes on, ask your administrator.")
        let isSaid = detail.contains("(ref ") && HostedLanguage(call.request) == .english
        if !isSaid, let reference = reference ?? decisionReference {
            page.say("Reference: \(reference)")
        }
        var answer = page.response(status)
        answer.fields += fields.filter { $0.name == "retry-after" }
        return answer
    }

    /// The reference to the decision if the rules refused; otherwise `nil`. The page adds it, since
    /// the German texts do not contain it.
    private var decisionReference: String? {
        guard let cause, let start = cause.firstRange(of: SignInRefusal.referenceStart) else {
            return nil
        }
        return String(cause[start.upperBound...])
    }
}

/// A person who was proved at a provider and still has to choose or confirm something. It is kept
/// encrypted in a cookie for ten minutes, so that any replica can continue and the database stores
/// nothing.
struct PendingSignIn: Sendable {
    var person: ProvedPerson
    /// The tenant of the sign-in; the platform's id if it is not known yet.
    var tenant: UUID
    /// The account to which this identity will be added, set once the person has proved the account
    /// too.
    var user: UUID?
    /// The hash of the link grant that replaces the proof of the account.
    var grantHash: [UInt8]?

    init(_ person: ProvedPerson, tenant: UUID, user: UUID? = nil) {
        self.person = person
        self.tenant = tenant
        self.user = user
    }

    /// Reads the value from the request's cookie; `nil` if there is none, or if it has expired or
    /// is not from this server.
    init?(_ call: Call) async throws {
        guard let text = HostedCookie.held.value(in: call.request),
            let sealed = Base64URL.decode(text),
            let plain = try? call.application.signInSealer.open(sealed, context: Self.context),
            let value = try? JSONValue(parsing: plain),
            let until = value["until"]?.int,
            call.application.now.microseconds / 1_000_000 < Int64(until),
            let tenant = value["tenant"]?.string.flatMap({ UUID($0) }),
            let provider = value["provider"]?.string.flatMap({ UUID($0) }),
            let row = try await call.database.provider(provider, owner: nil),
            let subject = value["subject"]?.string
        else { return nil }
        person = ProvedPerson(
            provider: row, subject: subject, email: value["email"]?.string,
            emailVerified: value["verified"]?.bool, name: value["name"]?.string,
            hostedDomain: value["hosted_domain"]?.string, audience: value["audience"]?.string)
        person.otherEmails = (value["other_emails"]?.array ?? []).compactMap(\.string)
        switch value["token_time"] {
        case nil, .null: person.tokenTime = nil
        case let time? where time["begun"]?.int != nil:
            person.tokenTime = .begun(
                Timestamp(microseconds: Int64(time["begun"]?.int ?? 0)),
                authenticatedAt: time["asked"]?.int.map { Int64($0) })
        case let time?: person.tokenTime = time.int.map { .at(Int64($0)) } ?? .unknown
        }
        self.tenant = tenant
        user = value["user"]?.string.flatMap { UUID($0) }
        grantHash = value["grant"]?.string.flatMap { Base64URL.decode($0) }
    }

    /// Returns the value of the cookie, encrypted so that only this server can read or write it.
    func sealed(by application: Application) throws -> String {
        func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
        let until = application.now.microseconds / 1_000_000 + HostedCookie.seconds
        let value = JSONValue.object([
            .init("until", .int(Int(until))), .init("tenant", .string(tenant.description)),
            .init("user", text(user?.description)),
            .init("grant", text(grantHash.map { Base64URL.encode($0) })),
            .init("provider", .string(person.provider.id.description)),
            .init("subject", .string(person.subject)), .init("email", text(person.email)),
            .init("verified", person.emailVerified.map(JSONValue.bool) ?? .null),
            .init("name", text(person.name)), .init("hosted_domain", text(person.hostedDomain)),
            .init("audience", text(person.audience)), .init("token_time", tokenTime),
            .init("other_emails", .array(person.otherEmails.map(JSONValue.string))),
        ])
        return Base64URL.encode(
            try application.signInSealer.seal(value.encoded(), context: Self.context))
    }

    private var tokenTime: JSONValue {
        switch person.tokenTime {
        case nil: .null
        case .at(let seconds): .int(Int(seconds))
        case .begun(let time, let asked):
            .object([
                .init("begun", .int(Int(time.microseconds))),
                .init("asked", asked.map { .int(Int($0)) } ?? .null),
            ])
        case .unknown: .string("unknown")
        }
    }

    private static let context = Array("held person".utf8)
}

/// The endpoint to which the provider sends the browser back.
enum HostedReturn {
    static func end(_ call: Call) async throws -> Response {
        let answer = try LoginReturn(call, by: .state, at: call.application.publicURL)
        guard let name = answer.state.utf8.split(separator: UInt8(ascii: ".")).last else {
            throw SignInRefusal.stateUnknown
        }
        let asked = String(decoding: name, as: UTF8.self)
        let isPlatforms = UUID(asked) == .platform
        let hosted = try await HostedCall(call, isPlatforms ? nil : asked)
        let (person, begun) = try await hosted.client.proveLogin(answer)
        if let grant = begun.grantHash {
            return try await HostedGrant.ask(person, grant, hosted.client)
        }
        do {
            return try await settle(person, begun.token, hosted)
        } catch SignInRefusal.signedOut(isStale: true) where !begun.isAskedAnew {
            return try await hosted.redirect(
                to: person.provider.id, bringing: begun.token, maxAge: 0)
        }
    }

    private static func settle(
        _ person: ProvedPerson, _ token: BroughtToken?, _ hosted: HostedCall
    ) async throws -> Response {
        let isPlatforms = hosted.client.tenant.id == .platform
        if token == nil,
            let held = try await PendingSignIn(hosted.client.call), held.user == nil,
            held.tenant == hosted.client.tenant.id, !isPlatforms, !held.person.isSame(as: person)
        {
            let user = try await hosted.client.admit(person)
            return try HostedSteps.confirm(held, user, hosted.client)
        }
        return try await HostedSteps.settle(person, hosted.client, bringing: token)
    }
}

extension LoginReturn {
    /// Reads the parameters with which a browser returns from a provider. They are accepted only
    /// with the cookie of the browser that began the sign-in. The cookie's value is `state.secret`,
    /// or `state.secret.device` with the token of the browser's device cookie.
    init(_ call: Call, by cookie: HostedCookie, at publicURL: String) throws {
        let query = FormText(call.request.query)
        guard let state = query.first("state"), !query.isRepeated("state"),
            let held = cookie.value(in: call.request), held.utf8.starts(with: "\(state).".utf8)
        else { throw SignInRefusal.stateUnknown }
        guard let code = query.first("code"), !query.isRepeated("code") else {
            throw query.first("error").map {
                SignInRefusal.endedByProvider("the provider answered \($0.prefix(64))")
            } ?? SignInRefusal.notProved("no code")
        }
        let rest = held.utf8.dropFirst(state.utf8.count + 1).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        self.init(
            state: state, code: code, redirectURI: publicURL + call.request.path,
            issuer: query.first("iss"), browser: String(decoding: rest[0], as: UTF8.self))
        device = rest.dropFirst().first.map { String(decoding: $0, as: UTF8.self) }
    }
}
