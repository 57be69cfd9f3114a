import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// Operators' sign-ins to the console at a provider of the platform. The console is a client like
/// an app's, whose redirect leads to `Application.OperatorLogin.callback`.
package enum OperatorLogin {
    private static let contract = Contract(
        name: "console", routes: [], encode: { $0.response(requestID: $1.id) })

    package static func service(_ core: SignInCore) -> Application.OperatorLogin {
        Application.OperatorLogin(
            begin: { call, provider, session, device in
                try await recorded(call, core) {
                    var (url, value) = try await begin(call, provider, session, core)
                    if let device { value += "." + device }
                    return (url, HostedCookie.operator.field(value, for: call.request))
                }
            },
            end: { call in try await recorded(call, core) { try await end(call, core) } })
    }

    private static func begin(
        _ call: Call, _ provider: UUID, _ session: UUID?, _ core: SignInCore
    ) async throws -> (url: String, cookie: String) {
        let client = client(call, core, at: provider)
        let begun = try await client.beginLogin(
            LoginWish(
                redirectURI: client.client.redirectURIs[0], isBrowsers: true,
                operatorSession: session,
                maxAge: session == nil ? OperatorSession.recentSeconds : 0))
        return (begun.url, "\(begun.state).\(begun.browser ?? "")")
    }

    private static func end(_ call: Call, _ core: SignInCore) async throws -> OperatorAssertion {
        let answer = try LoginReturn(call, by: .operator, at: core.publicURL)
        let (person, begun) = try await client(call, core).proveLogin(answer)
        return OperatorAssertion(
            provider: person.provider, subject: person.subject, email: person.email,
            emailVerified: person.emailVerified, hostedDomain: person.hostedDomain,
            authenticatedAt: person.authenticatedAt, isMultiFactor: person.isMultiFactor,
            session: begun.operatorSession, begunAt: begun.begunAt ?? call.now,
            device: answer.device,
            spentCookie: HostedCookie.operator.field(nil, for: call.request))
    }

    private static func client(
        _ call: Call, _ core: SignInCore, at provider: UUID? = nil
    ) -> ClientCall {
        var row = ClientRow(unset: contract.name)
        row.enabled = true
        row.redirectURIs = [core.publicURL + Application.OperatorLogin.callback]
        if let provider {
            row.settings = .object([.init("provider", .string(provider.description))])
        }
        return ClientCall(
            call, row, of: .platform(named: "Gatehouse", at: call.now), contract, core)
    }

    private static func recorded<Result>(
        _ call: Call, _ core: SignInCore, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let refusal as SignInRefusal {
            throw await client(call, core).explained(
                refusal.recorded, at: "\(call.request.method.rawValue) \(call.request.path)")
        }
    }
}
