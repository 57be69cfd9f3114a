import API
import Domain
import Gatehouse
import JSON
import Runtime
import Storage
import TestSupport
import Testing

/// What the server refuses before any endpoint is asked: a page that may ask has to be able to
/// read it (ORIGINS: error answers).
@Suite(.cleansUp) struct RefusedOnTheWireTests {
    private static let app = "capacitor://localhost"
    private static let foreign = "https://foreign.example"

    private static let refusals: [(Int, String)] = [
        (413, "Content-Length: 2000000\r\n\r\n"),
        (413, "Transfer-Encoding: chunked\r\n\r\n200000\r\n"),
        (400, "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"),
        (400, "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        (400, "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
        (417, "Expect: a-miracle\r\nContent-Length: 3\r\n\r\nabc"),
    ]

    /// A service with a tenant that lists one origin, and its platform key.
    private static func start() async throws -> (RunningService, auth: String) {
        let running = try await RunningService()
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        let auth = "Authorization: Bearer \(secret.text)"
        for (path, json) in [
            ("/v1/tenants", #"{"slug":"acme","name":"Acme"}"#),
            ("/v1/tenants/acme/cors-origins", #"{"origin":"\#(app)"}"#),
        ] {
            let made = try running.send("POST", path, body: json, fields: [auth])
            #expect(made.status == 201, "\(made.body)")
        }
        return (running, auth)
    }

    @Test func `a request refused before it is read whole has the usual response fields`()
        async throws
    {
        let (running, _) = try await Self.start()
        for (status, rest) in Self.refusals {
            for (origin, isListed) in [(Self.app, true), (Self.foreign, false)] {
                var wire = try Wire(port: running.service.port)
                let answer = try wire.exchange(
                    "POST /v1/tenants/acme/users HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        + "Origin: \(origin)\r\nX-Request-Id: asked-for\r\n\(rest)")
                #expect(answer.status == status, "\(rest) \(answer.body)")
                #expect(answer.first("access-control-allow-origin") == (isListed ? origin : nil))
                #expect(answer.first("vary")?.contains("Origin") == true)
                #expect(answer.first("x-content-type-options") == "nosniff")
                #expect(answer.first("x-request-id") == "asked-for")
                #expect(answer.first("connection") == "close")
                let document = try JSONValue(parsing: Array(answer.body.utf8))
                #expect(document["status"]?.int == status)
                #expect(document["request_id"]?.string == "asked-for")
            }
        }
    }

    @Test func `a refused request changes nothing`() async throws {
        let (running, auth) = try await Self.start()
        for (status, rest) in Self.refusals {
            var wire = try Wire(port: running.service.port)
            let answer = try wire.exchange(
                "POST /v1/tenants/acme/users HTTP/1.1\r\nHost: 127.0.0.1\r\n\(auth)\r\n"
                    + "Content-Type: application/json\r\n\(rest)")
            #expect(answer.status == status)
        }
        let list = try running.send("GET", "/v1/tenants/acme/users", fields: [auth])
        #expect(list.status == 200)
        #expect(list.body.contains(#""items":[]"#))
    }

    @Test func `a port in use is not shared with a second server`() async throws {
        let (running, _) = try await Self.start()
        await #expect(throws: ListenError.self) {
            _ = try await RunningService(replacing: running) {
                $0.listen = "127.0.0.1:\(running.service.port)"
            }
        }
    }
}
