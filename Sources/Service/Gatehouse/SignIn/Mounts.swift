import API
import Domain
import HTTP
import Storage
import Text

/// Decides from a request's host where the request goes: to the server's own endpoints, or to a
/// client that is bound to the host. At a bound host, the paths of the client's contract begin at
/// the root.
struct Mounts: Sendable {
    enum Target: Sendable {
        /// The server's own host; the contracts are reached below `/t/{tenant}/{client}/`.
        case own(Request)
        /// A host that is bound to a client. The request's path now begins with
        /// `/t/{tenant}/{client}`.
        case client(Request)
        /// A host that is not served, with the response and the reason for the log.
        case refused(Response, String)
    }

    /// Paths that are answered for every host, since load balancers and supervisors use an IP
    /// address as the host.
    private static let health = ["/livez", "/readyz", "/healthz", "/metrics"]

    private let database: Database
    private let own: [String]
    /// Whether the server is reached only from this machine. Then clients may be bound to loopback
    /// hosts with other ports.
    private let isLocal: Bool

    /// Reads the server's own host from `publicURL`. If this host is a loopback address, the other
    /// spellings of the loopback address are the server's own hosts too.
    init(database: Database, publicURL: String) {
        self.database = database
        let address = PublicAddress(publicURL)
        own = address?.authorities ?? []
        isLocal = address?.isLoopback ?? true
    }

    /// Returns the target of the request; a host that is neither our own nor bound to a client is
    /// refused with 421 (RFC 9110 section 15.5.20).
    func target(_ request: Request) async -> Target {
        guard let sent = request.first("host") else { return .own(Self.tidied(request)) }
        let host = sent.lowercased()
        // Check this before the bound hosts: a proxy that sends our address as host must not reach
        // a client.
        if own.contains(where: { sameBytes($0, host) })
            || Self.health.contains(where: { sameBytes($0, request.path) })
            || !isLocal && PublicAddress.isLoopback(host)
        {
            return .own(Self.tidied(request))
        }
        do {
            if let bound = try await database.fetchClient(atHost: host) {
                return .client(Self.mounted(request, "/t/\(bound.tenant)/\(bound.client)"))
            }
        } catch {
            return Self.refused(Problem(error) ?? .unavailable, request)
        }
        if PublicAddress.isLoopback(host) { return .own(Self.tidied(request)) }
        return Self.refused(unserved(host, request), request)
    }

    /// Returns the problem for a host that is not served. It names the served hosts only to those
    /// who call this server directly; behind a proxy, only the log names them.
    private func unserved(_ host: String, _ request: Request) -> Problem {
        let served = " (now \(own.joined(separator: ", ")))"
        func why(_ served: String) -> String {
            "it is neither that of GATEHOUSE_PUBLIC_URL\(served) nor bound to a client by `hosts`"
        }
        let named = String(
            String.UnicodeScalarView(
                host.unicodeScalars.prefix(260).filter { $0.value > 0x20 && $0.value != 0x7F }))
        var problem = Problem(
            .invalidRequest,
            "The host \(named) is not served here: \(why(request.isPassedOn ? "" : served)).",
            status: 421)
        problem.cause = "the host \(named) is not served: \(why(served))"
        return problem
    }

    private static func refused(_ problem: Problem, _ request: Request) -> Target {
        var answer = problem.response(requestID: request.id)
        answer.complete(id: request.id, isTLS: request.isTLS, isPrivate: true)
        return .refused(answer, problem.cause ?? problem.detail)
    }

    /// Returns the request with a corrected path: an app whose base address ends in a slash
    /// requests `//api/…`.
    private static func tidied(_ request: Request) -> Request {
        if let question = ProxyDecision.unwrapped(request) { return question }
        guard request.path.utf8.starts(with: "/t/".utf8) else { return request }
        var request = request
        request.path = collapsed(request.path)
        return request
    }

    private static func mounted(_ request: Request, _ mount: String) -> Request {
        var request = request
        request.path = mount + collapsed(request.path)
        request.isMountedByHost = true
        return request
    }

    private static func collapsed(_ path: String) -> String {
        var bytes: [UInt8] = []
        for byte in path.utf8 where byte != 0x2F || bytes.last != 0x2F { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// `/.well-known/jwks.json`: the public keys of access tokens (RFC 7517 section 5).
enum KeySetEndpoint {
    private static let shape = ObjectShape(
        "KeySet", open: true,
        [
            .required(
                "keys",
                .array(
                    of: .object(
                        ObjectShape(
                            "JSONWebKey", open: true,
                            [
                                .required("kty", .string(), "The type of the key (RFC 7518)."),
                                .required(
                                    "kid", .string(), "The id that the header of a token names."),
                                .required("alg", .string(), "The algorithm of the signatures."),
                            ]))),
                "The keys whose signatures are valid now, and those that will be used next.")
        ])

    static let endpoint = Endpoint(
        .get, "/.well-known/jwks.json", id: "getKeySet", tag: "Keys",
        summary: "Returns the public keys with which the signatures of access tokens are verified.",
        access: .open,
        answers: [Answer(200, .other([.object("application/jwk-set+json", shape)]))]
    ) { call in
        var answer = Response(
            200, type: "application/jwk-set+json", try await call.application.tokens.keySet())
        // Clients may cache the keys for an hour, which is shorter than the time between the
        // publication of a key and its first use.
        answer.set("cache-control", "public, max-age=3600")
        return answer
    }
}
