import API
import HTTP
import JSON
import TestSupport
import Testing

@Suite(.cleansUp) struct DecodingTests {
    let fixture: ThingFixture

    init() async throws { fixture = try await ThingFixture() }

    @Test func `one response reports every fault of a body`() async throws {
        let response = try await fixture.send(
            .post, ThingFixture.path,
            json: """
                {"email": null, "count": 11, "active": "yes", "note": "too long", "role": "king",
                 "tags": ["ok", "", 7], "place": {"x": 1.5, "y/z": 1}, "id": "x", "other": 1}
                """)
        #expect(response.status == 422)
        let errors = try response.errors()
        #expect(
            errors == [
                "/email null", "/count out_of_range", "/active wrong_type", "/note too_long",
                "/role not_allowed", "/tags too_long", "/tags/1 too_short",
                "/place/x wrong_type", "/place/y~1z unknown", "/id unknown", "/other unknown",
                "/slug required",
            ])
    }

    @Test func `query and body faults stand in one answer`() async throws {
        let response = try await fixture.send(
            .post, ThingFixture.path, query: "x=1", json: #"{"slug":"acme"}"#)
        #expect(try response.errors() == ["?x unknown", "/email required"])
    }

    @Test(
        arguments: [
            ("limit=0", "?limit out_of_range"), ("limit=201", "?limit out_of_range"),
            ("limit=ten", "?limit wrong_type"), ("limit=1&limit=2", "?limit duplicate"),
            ("sort=name", "?sort not_allowed"), ("q=%zz", "? invalid"), ("who=me", "?who unknown"),
            ("q=", "?q too_short"), ("kinds=", "?kinds/0 not_allowed"),
            ("kinds=a,,b", "?kinds/1 not_allowed"), ("kinds=a,", "?kinds/1 not_allowed"),
        ])
    func `a bad query parameter is 422`(query: String, error: String) async throws {
        let response = try await fixture.send(.get, ThingFixture.path, query: query)
        #expect(response.status == 422)
        #expect(try response.errors() == [error])
    }

    @Test func `an empty body gets an error for each missing member`() async throws {
        let response = try await fixture.send(.post, ThingFixture.path)
        #expect(try response.errors() == ["/slug required", "/email required"])
    }

    @Test func `a body that is no object is 422, one that is not JSON 400`() async throws {
        let array = try await fixture.send(.post, ThingFixture.path, json: "[]")
        #expect(array.status == 422)
        let broken = try await fixture.send(.post, ThingFixture.path, json: "{")
        #expect(try broken.status == 400 && broken.code() == "invalid_request")
        let double = try await fixture.send(
            .post, ThingFixture.path, json: #"{"slug":"a","slug":"b"}"#)
        #expect(double.status == 400)
    }

    @Test(arguments: ["a", "-ab", "ab-", "Ab", "a_b", "00000000-0000-4000-8000-000000000000"])
    func `a slug of another form is refused`(slug: String) async throws {
        let response = try await fixture.send(
            .post, ThingFixture.path, json: #"{"slug":"\#(slug)","email":"a@b.c"}"#)
        #expect(response.status == 422)
    }

    @Test func `an action verb takes no body or an empty object`() async throws {
        let path = ThingFixture.onePath + "/suspend"
        #expect(try await fixture.send(.post, path).status == 200)
        #expect(try await fixture.send(.post, path, json: "{}").status == 200)
        let full = try await fixture.send(.post, path, json: #"{"a":1}"#)
        #expect(try full.errors() == ["/a unknown"])
    }

    @Test func `null and absent are different`() async throws {
        let seen = Inputs()
        let endpoint = Endpoint(
            .patch, "/x", id: "x", tag: "X", summary: "", access: .open,
            body: .json(ThingFixture.shape.patching()), answers: [.noContent]
        ) { call in
            seen.keep(call.input)
            return .noContent
        }
        let dispatcher = try await Dispatcher.open(endpoint)
        for body in [#"{"note":null}"#, #"{"note":"n"}"#, "{}"] {
            #expect(await dispatcher.respond(to: .json(.patch, "/x", body)).status == 204)
        }
        let inputs = seen.all
        #expect(inputs[0].isNull("note") && inputs[0].has("note"))
        #expect(inputs[1].optionalString("note") == "n" && !inputs[1].isNull("note"))
        #expect(!inputs[2].has("note"))
        #expect(inputs[2].change("note", Input.optionalString) == .none)
        #expect(inputs[0].change("note", Input.optionalString) == .some(nil))
    }

    @Test func `another shape is taken when its member is there`() async throws {
        let one = ObjectShape("One", [.required("email", .email, "The address.")])
        let many = ObjectShape(
            "Many", [.required("invites", .array(of: .object(one)), "The invites.")])
        let endpoint = Endpoint(
            .post, "/x", id: "x", tag: "X", summary: "", access: .open,
            body: .json(one.or(whenHas: "invites", many)), answers: [.noContent]
        ) { _ in .noContent }
        let dispatcher = try await Dispatcher.open(endpoint)
        let good = await dispatcher.respond(
            to: .json(.post, "/x", #"{"invites":[{"email":"a@b.c"}]}"#))
        #expect(good.status == 204)
        let bad = await dispatcher.respond(to: .json(.post, "/x", #"{"invites":[{}]}"#))
        #expect(try bad.errors() == ["/invites/0/email required"])
    }
}
