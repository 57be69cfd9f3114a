import Cryptography
import HTTP
import Synchronization
import Text

/// An OpenID provider of our own on 127.0.0.1, for what no decent provider does: it counts what is
/// fetched, and publishes any page that a test sets.
package final class TestProvider: Sendable {
    package struct Page: Sendable {
        package var status: Int
        package var type: String
        package var body: String

        package init(status: Int = 200, type: String = "application/json", _ body: String) {
            self.status = status
            self.type = type
            self.body = body
        }
    }

    private final class State: Sendable {
        let pages = Mutex<[String: Page]>([:])
        let fetches = Mutex<[String: Int]>([:])
        let bodies = Mutex<[String: String]>([:])
        let credentials = Mutex<[String: String]>([:])
    }

    package let issuer: String
    package let key: SigningKey
    private let state: State
    private let server: Server

    package static let discoveryPath = "/.well-known/openid-configuration"
    package static let keysPath = "/keys"

    package static func start() async throws -> TestProvider {
        let state = State()
        let server = Server(loops: [Loops.shared[0]]) { request in
            state.fetches.withLock { $0[request.path, default: 0] += 1 }
            state.bodies.withLock {
                $0[request.path] = String(decoding: request.body, as: UTF8.self)
            }
            state.credentials.withLock { $0[request.path] = request.first("authorization") }
            let page = state.pages.withLock { $0[request.path] }
            guard let page else { return Response(404) }
            return Response(page.status, type: page.type, Array(page.body.utf8))
        }
        let port = try await server.start(address: "127.0.0.1:0")
        CleanUp.atEnd { await server.drain(deadline: .zero) }
        let provider = TestProvider(
            issuer: "http://127.0.0.1:\(port)", key: try SigningKey(), state: state, server: server)
        provider.publish(keys: [provider.key.publicJWK()])
        provider.set(
            discoveryPath,
            Page(
                """
                {"issuer":"\(provider.issuer)","jwks_uri":"\(provider.issuer)\(keysPath)",
                "authorization_endpoint":"\(provider.issuer)/authorize",
                "token_endpoint":"\(provider.issuer)/token"}
                """))
        return provider
    }

    private init(issuer: String, key: SigningKey, state: State, server: Server) {
        self.issuer = issuer
        self.key = key
        self.state = state
        self.server = server
    }

    package func stop() async { await server.drain(deadline: .zero) }

    package func set(_ path: String, _ page: Page) { state.pages.withLock { $0[path] = page } }

    package func publish(keys: [String]) {
        set(Self.keysPath, Page(#"{"keys":[\#(keys.joined(separator: ","))]}"#))
    }

    package func fetches(of path: String) -> Int { state.fetches.withLock { $0[path] ?? 0 } }

    /// The body of the last request to that path.
    package func lastBody(of path: String) -> String { state.bodies.withLock { $0[path] ?? "" } }

    /// The `Authorization` field of the last request to that path.
    package func lastCredential(of path: String) -> String? {
        state.credentials.withLock { $0[path] }
    }

    package func mint(clientID: String, now: Timestamp) -> TokenMint {
        TokenMint(issuer: issuer, clientID: clientID, key: key, now: now)
    }
}
