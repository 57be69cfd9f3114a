import API
import Cryptography
import Domain
import Federation
import HTTP
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
            endpoint(.post, HostedGrant.path, core) {
                try await HostedGrant.take($0, core)
            },
        ]
    }

    /// Begins the sign-in of the holder of an invite or a join link at a provider, for its page.
    package static func joining(_ core: SignInCore) -> Services.Joining {
        { call, tenant, provider, token in
            try requireOwnPage(call.request, core)
            do {
                return try await HostedCall(call, tenant, core).begin(at: provider, bringing: token)
            } catch let refusal as SignInRefusal {
                let client = ClientCall(hosted: call, tenant: tenant, provider: nil, core)
                throw await client.explained(
                    refusal.recorded, at: "\(call.request.method.rawValue) \(call.request.path)")
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
            var problem: Problem
            do {
                if method == .post { try requireOwnPage(call.request, core) }
                return try await handle(call)
            } catch let refusal as SignInRefusal {
                problem = refusal.recorded
            } catch let refused as Problem {
                problem = refused
            }
            let tenant = await tenant(of: call, core)
            let client = ClientCall(hosted: call, tenant: tenant, provider: nil, core)
            let reference = await client.noteFailure(&problem, at: "\(method.rawValue) \(path)")
            problem.page = problem.page(for: call, reference: reference)
            throw problem
        }
        endpoint.isForeign = true
        return endpoint
    }

    /// The tenant whose operators are asked about a refusal: that of the path, of the state or of the
    /// held person; else the platform. Nothing is proved by it.
    private static func tenant(of call: Call, _ core: SignInCore) async -> TenantRow {
        var name = try? call.parameter("tenant")
        if name == nil, let state = FormText(call.request.query).first("state") {
            name = state.utf8.split(separator: UInt8(ascii: ".")).last
                .map { String(decoding: $0, as: UTF8.self) }
        } else if name == nil, let held = try? await PendingSignIn(call.request, core) {
            name = held.tenant.description
        }
        if let name, let found = try? await core.database.tenant(name), found.status != .deleted {
            return found
        }
        return .platform(named: "Gatehouse", at: call.now)
    }

    /// Refuses a form from another site (Fetch Metadata; else the origin).
    private static func requireOwnPage(_ request: Request, _ core: SignInCore) throws {
        var refusal = Problem.forbidden("The form came from another page.")
        refusal.cause = SignInRefusal.causeStart + "foreign_form"
        if let site = request.first("sec-fetch-site") {
            guard site == "same-origin" else { throw refusal }
        } else if let origin = request.first("origin"), !sameBytes(origin, core.publicURL) {
            throw refusal
        }
    }
}

extension ClientCall {
    /// The refusal with a reference, under which the line is found that has its reason.
    func explained(_ problem: Problem, at operation: String) async -> Problem {
        var problem = problem
        if let reference = await noteFailure(&problem, at: operation) {
            problem.detail += " (ref \(reference))"
        }
        return problem
    }
}

extension Problem {
    /// An error page with the problem's text, without its code. `reference`: finds the line of the
    /// failed sign-in.
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

    /// What finds the decision, where the rules refused; German sentences do not repeat it.
    private var decisionReference: String? {
        guard let cause, let start = cause.firstRange(of: SignInRefusal.referenceStart) else {
            return nil
        }
        return String(cause[start.upperBound...])
    }
}
