import API
import Cryptography
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct RefusalTests {
    let fixture: ThingFixture
    static let good = #"{"slug":"acme","email":"a@b.c"}"#
    static let unknown = "\(ThingFixture.path)/\(UUID(high: 0x4000, low: 8))"

    init() async throws { fixture = try await ThingFixture() }

    @Test func `refusals come in their order, each hiding the ones after it`() async throws {
        let evil = ("origin", "https://evil.example")
        let text = ("content-type", "text/plain")
        let wide = String(repeating: " ", count: 5000)
        let one = ThingFixture.onePath
        func status(
            _ method: HTTP.Method, _ path: String, as who: String? = "writer",
            _ fields: [(String, String)] = [], _ json: String? = nil
        ) async throws -> Int {
            try await fixture.send(method, path, as: who, fields, json: json).status
        }
        #expect(try await status(.post, ThingFixture.path, as: nil, [evil], wide) == 413)
        #expect(try await status(.delete, ThingFixture.path, as: nil, [evil]) == 403)
        #expect(try await status(.delete, ThingFixture.path, as: nil) == 405)
        #expect(try await status(.put, Self.unknown, as: nil, [text], "x") == 401)
        #expect(try await status(.put, Self.unknown, as: "reader", [text], "x") == 404)
        #expect(try await status(.put, one, as: "reader", [text], "x") == 403)
        #expect(try await status(.put, Self.unknown, as: "writer", [text], "x") == 404)
        #expect(try await status(.put, one, as: "writer", [text], "x") == 415)
        #expect(try await status(.put, one, as: "writer", [], "{}") == 422)
        #expect(try await status(.put, one, as: "writer", [], Self.good) == 428)
        #expect(
            try await status(.put, one, as: "writer", [("if-match", "\"v9\"")], Self.good) == 412)
        #expect(
            try await status(.put, one, as: "writer", [("if-match", "\"v1\"")], Self.good) == 200)
    }

    @Test func `an unknown tenant and another tenant get the same 404`() async throws {
        for tenant in ["other", "nobody", fixture.other.id.description, UUID.random().description] {
            let response = try await fixture.send(.get, "/v1/tenants/\(tenant)/things")
            #expect(response.status == 404)
            #expect(try response.json()["detail"]?.string == "There is no such tenant.")
        }
    }

    @Test func `the platform reaches every tenant`() async throws {
        let path = "/v1/tenants/other/things"
        #expect(try await fixture.send(.get, path, as: "console").status == 200)
    }

    @Test func `an id that is no UUID is 404`() async throws {
        let path = "\(ThingFixture.path)/seven/suspend"
        #expect(try await fixture.send(.post, path).status == 404)
    }

    @Test func `a console session writes only with its header`() async throws {
        let path = ThingFixture.onePath + "/suspend"
        #expect(try await fixture.send(.post, path, as: "console").status == 403)
        let header = [("x-gatehouse-console", "1")]
        #expect(try await fixture.send(.post, path, as: "console", header).status == 200)
    }

    @Test func `an unreachable database is 503, never 401`() async throws {
        let away = fixture.service.database.client(as: "host=/nowhere dbname=nothing") {
            $0.acquireTimeout = 100
        }
        let composition = try Composition(
            app: away, platform: away, secrets: SecretKeys([UInt8](repeating: 7, count: 32)),
            publicURL: "http://gatehouse.test", clock: Timestamp.systemClock)
        let dispatcher = try Dispatcher(
            endpoints: ThingFixture.endpoints(), application: composition.application)
        let response = await dispatcher.respond(
            to: Request(.get, ThingFixture.path, fields: fixture.fields(of: "reader")))
        #expect(try response.status == 503 && response.code() == "unavailable")
        #expect(response.first("retry-after") == "1")
    }

    @Test func `405 and OPTIONS list the served methods`() async throws {
        let refused = try await fixture.send(.delete, ThingFixture.path)
        #expect(refused.first("allow") == "GET, HEAD, POST, OPTIONS")
        let options = try await fixture.send(.options, ThingFixture.path, as: nil)
        #expect(options.status == 204)
        #expect(options.first("allow") == "GET, HEAD, POST, OPTIONS")
    }

    @Test func `HEAD is answered as GET`() async throws {
        #expect(try await fixture.send(.head, ThingFixture.path).status == 200)
    }

    @Test(arguments: ["application/json; charset=utf-8", "Application/JSON", "application/json ;x"])
    func `parameters and case of the media type do not matter`(type: String) async throws {
        let response = try await fixture.send(
            .post, ThingFixture.path, [("content-type", type)], json: Self.good)
        #expect(response.status == 201)
    }

    @Test func `401 says how to sign in`() async throws {
        let response = try await fixture.send(.get, ThingFixture.path, as: nil)
        #expect(response.first("www-authenticate") == "Bearer realm=\"gatehouse\"")
    }

    @Test func `a preflight is answered before the credential is asked for`() async throws {
        let response = try await fixture.send(
            .options, ThingFixture.path, as: nil,
            [("origin", ThingFixture.origin), ("access-control-request-method", "POST")])
        #expect(response.status == 204)
        #expect(response.first("access-control-allow-origin") == ThingFixture.origin)
        #expect(response.first("vary")?.hasPrefix("Origin") == true)
    }

    @Test func `the origin's fields and the security fields stand on refusals too`() async throws {
        let response = try await fixture.send(
            .get, ThingFixture.path, as: "nobody", [("origin", ThingFixture.origin)])
        #expect(response.status == 401)
        #expect(response.first("access-control-allow-origin") == ThingFixture.origin)
        #expect(response.first("vary") == "Origin")
        #expect(response.first("cache-control") == "no-store")
        #expect(response.first("x-content-type-options") == "nosniff")
        #expect(response.first("x-request-id") == "r-1")
        #expect(response.first("strict-transport-security") == nil)
    }

    @Test func `two declarations of one path stop the start`() throws {
        let endpoints = ThingFixture.endpoints()
        #expect(throws: RouteError.self) { try fixture.dispatcher(endpoints + [endpoints[0]]) }
    }
}
