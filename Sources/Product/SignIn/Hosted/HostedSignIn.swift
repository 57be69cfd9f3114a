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
            endpoint(.post, "\(platformPath)/grant", core) {
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
                return refusal.recorded.page(for: call)
            } catch let problem as Problem {
                return problem.page(for: call)
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

extension Problem {
    /// An error page with the problem's text, without its code.
    fileprivate func page(for call: Call) -> Response {
        var page = HostedPage("This did not work", in: HostedLanguage(call.request))
        page.warn(self)
        page.say("Go back and begin again. If it goes on, ask your administrator.")
        var answer = page.response(status)
        answer.fields += fields.filter { $0.name == "retry-after" }
        return answer
    }
}
