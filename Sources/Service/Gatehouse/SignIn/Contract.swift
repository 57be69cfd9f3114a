import API
import Domain
import HTTP
import Text

/// The server interface that one app expects: its routes as data, its error format, and its texts
/// for refusals of the core. A contract decodes requests, calls the core and encodes responses; it
/// contains no rules of its own.
package struct Contract: Sendable {
    /// The name of the contract in paths: `/t/{tenant}/{name}/…`.
    package var name: String
    /// Header fields, in lower case, that the app's pages send in addition to those that every
    /// client may send.
    var headers: [String] = []
    /// The name of the cookie with the token of the app's session; `nil` if the app uses none.
    var cookie: String?
    /// The other cookies that the app sets.
    var otherCookies: [String] = []
    /// The kinds of providers for which the client's setting `client_id` is used.
    var providerKinds = ClientDescription.signInKinds
    /// The settings that only this app has, in addition to those of every client.
    var settings: [FieldShape] = []
    /// Returns the app's own minimum length of a password; `nil` if it has none.
    var leastPassword: (@Sendable (ClientCall) -> Int?)?
    var routes: [ContractRoute]
    /// Returns a refusal in the app's own form; `Problem.detail` is the text that the app shows.
    package var encode: @Sendable (Problem, Request) -> Response
    /// Returns the app's text for a refusal of the core; `nil` to use the core's own text.
    var explain: @Sendable (SignInRefusal) -> Problem? = { _ in nil }
    /// Returns the refusal, adapted to the client's settings.
    var refine: @Sendable (Problem, ClientCall) -> Problem = { problem, _ in problem }

    var description: ClientDescription {
        let common: [FieldShape] = [
            .nullable(
                "provider", .string(min: 1, max: 64),
                "The id of the provider at which people sign in. If absent, it is the only "
                    + "provider that fits."),
            .nullable(
                "client_id", .string(min: 1, max: 255),
                "The OAuth client id of this app at its provider; the provider's `client_id` if "
                    + "absent."),
            .nullable(
                "secret", .string(min: 1, max: 4096),
                "The secret of `client_id`, if it has one. The secret is never returned. If "
                    + "absent, the stored secret stays as long as `client_id` and the provider "
                    + "stay the same."),
            .optional(
                "token_seconds", .integer(60...31_536_000),
                "How long a session of the app lasts, in seconds."),
        ]
        return ClientDescription(
            name: name,
            profile: CORSProfile(
                client: headers, cookies: (cookie.map { [$0] } ?? []) + otherCookies),
            settings: ObjectShape(common + settings), providerKinds: providerKinds, encode: encode)
    }
}

/// One route of a contract; its path, such as `/auth/login`, follows the path of the contract.
struct ContractRoute: Sendable {
    typealias Handler = @Sendable (ClientCall) async throws -> Response

    var method: Method
    var path: String
    /// Whether pages of every origin may read the response; credentials are then ignored.
    var isPublic: Bool
    /// The largest allowed body in bytes; a larger one gets 413.
    var maxBody: Int
    /// The time limit of a request, as for the endpoints of the API.
    var time: Duration
    var handle: Handler

    init(
        _ method: Method, _ path: String, isPublic: Bool = false, maxBody: Int = 1 << 16,
        time: Duration = Endpoint.ordinaryTime,
        handle: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.isPublic = isPublic
        self.maxBody = maxBody
        self.time = time
        self.handle = handle
    }
}

/// The list of all client contracts, one line each; no other code names them.
package enum Contracts {
    static let all: [Contract] = [
        Immich.contract,
        TimeTracker.contract,
        ThinkWork.contract,
        DeepRecall.contract,
        Relate.contract,
    ]

    package static let descriptions = all.map(\.description)

    /// The endpoints of all contracts, with full paths, for the dispatcher that also serves the
    /// API.
    static let endpoints: [Endpoint] =
        all.flatMap { contract in
            contract.routes.map { endpoint($0, of: contract) }
        }

    private static func endpoint(
        _ route: ContractRoute, of contract: Contract
    ) -> Endpoint {
        let operation = "\(route.method.rawValue) \(route.path)"
        var endpoint = Endpoint(
            route.method, "/t/{tenant}/\(contract.name)\(route.path)",
            id: "\(contract.name) \(route.method.rawValue) \(route.path)", tag: "Clients",
            summary: "", access: .open, body: .raw(["*/*"]), answers: [], maxBody: route.maxBody,
            time: route.time
        ) { call in
            var mounted: ClientCall?
            do {
                let call = try await ClientCall(call, contract)
                mounted = call
                try call.requireJSON()
                var answer = try await route.handle(call)
                if answer.first("cache-control") == nil { answer.set("cache-control", "no-store") }
                return answer
            } catch let refusal as SignInRefusal {
                var problem = contract.explain(refusal) ?? refusal.problem
                problem.cause = refusal.cause
                await mounted?.noteFailure(&problem, at: operation)
                throw problem
            } catch var problem as Problem {
                await mounted?.noteFailure(&problem, at: operation)
                throw mounted.map { contract.refine(problem, $0) } ?? problem
            }
        }
        endpoint.isPublicDocument = route.isPublic
        endpoint.isForeign = true
        return endpoint
    }
}
