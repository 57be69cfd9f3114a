import API
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct IdempotencyTests {
    let fixture: ThingFixture
    let key = [("idempotency-key", "k 1")]

    init() async throws { fixture = try await ThingFixture() }

    @Test func `the same key and body run once and answer the same`() async throws {
        let first = try await fixture.send(.post, ThingFixture.path, key, json: RefusalTests.good)
        let second = try await fixture.send(.post, ThingFixture.path, key, json: RefusalTests.good)
        #expect(fixture.ran.count == 1)
        #expect(second.status == 201 && first.bytes == second.bytes)
        #expect(second.first("location") == first.first("location"))
        #expect(second.first("etag") == "\"v1\"")
        #expect(second.first("idempotent-replayed") == "true")
        #expect(second.fields.filter { $0.name == "x-request-id" }.count == 1)
    }

    @Test func `another body under the key is 422, another path is another request`() async throws {
        _ = try await fixture.send(.post, ThingFixture.path, key, json: RefusalTests.good)
        let other = try await fixture.send(
            .post, ThingFixture.path, key, json: #"{"slug":"two","email":"a@b.c"}"#)
        #expect(try other.status == 422 && other.code() == "idempotency_mismatch")
        let path = "/v1/tenants/\(fixture.acme.id)/things"
        _ = try await fixture.send(.post, path, key, json: RefusalTests.good)
        #expect(fixture.ran.count == 2)
    }

    @Test func `a refusal after validation is kept`() async throws {
        let body = #"{"slug":"taken","email":"a@b.c"}"#
        let first = try await fixture.send(.post, ThingFixture.path, key, json: body)
        let second = try await fixture.send(.post, ThingFixture.path, key, json: body)
        #expect(first.status == 409 && second.bytes == first.bytes && fixture.ran.count == 1)
    }

    @Test func `a response with status 5xx is not stored`() async throws {
        let body = #"{"slug":"broken","email":"a@b.c"}"#
        for _ in 0..<2 {
            #expect(try await fixture.send(.post, ThingFixture.path, key, json: body).status == 500)
        }
        #expect(fixture.ran.count == 2)
    }

    @Test func `bad input takes no claim`() async throws {
        #expect(try await fixture.send(.post, ThingFixture.path, key, json: "{}").status == 422)
        let good = try await fixture.send(.post, ThingFixture.path, key, json: RefusalTests.good)
        #expect(good.status == 201)
    }

    @Test func `while the first runs the second is 409`() async throws {
        let fixture = fixture
        let key = key
        let endpoint = Endpoint(
            .post, "/v1/tenants/{tenant}/slow", id: "slow", tag: "Things", summary: "",
            access: .principal, answers: [.noContent], idempotent: true
        ) { call in
            if call.request.id == "inner" { return .noContent }
            var again = call.request
            again.id = "inner"
            // A request of its own: it shares no transaction with the first.
            let inner = await Task.detached { [again] in
                await fixture.slow.respond(to: again)
            }.value
            return Response(200, fields: [Field("x-inner", "\(inner.status)")])
        }
        try fixture.slow.install(fixture.dispatcher([endpoint]))
        let request = Request(
            .post, "/v1/tenants/acme/slow",
            fields: fixture.fields(of: "writer") + [Field(key[0].0, key[0].1)])
        let outer = await fixture.slow.respond(to: request)
        #expect(outer.first("x-inner") == "409")
    }

    @Test func `a call that may have written is not repeated under its key`() async throws {
        let endpoint = Endpoint(
            .post, "/v1/tenants/{tenant}/lost", id: "lost", tag: "Things", summary: "",
            access: .principal, answers: [.noContent], idempotent: true
        ) { _ in throw Problem.commitUnknown }
        let dispatcher = try fixture.dispatcher([endpoint])
        let request = Request(
            .post, "/v1/tenants/acme/lost",
            fields: fixture.fields(of: "writer") + [Field(key[0].0, key[0].1)])
        for code in ["commit_unknown", "request_in_progress"] {
            let answer = await dispatcher.respond(to: request)
            #expect(try answer.code() == code)
        }
    }

    @Test(arguments: ["", "é", "\u{7F}", String(repeating: "k", count: 256)])
    func `a malformed key is 400`(value: String) async throws {
        let response = try await fixture.send(
            .post, ThingFixture.path, [("idempotency-key", value)], json: RefusalTests.good)
        #expect(response.status == 400)
    }
}
