import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// Users of before a schema who are not as it says.
@Suite(.serialized, .cleansUp) struct AttributeViolationsTests {
    private static let path = "/v1/tenants/acme/attribute-schema"

    private func put(_ rules: String, _ fixture: UserFixture) async throws -> JSONValue {
        let put = try await fixture.service.send(
            .put, Self.path, json: "{\"attributes\":{\(rules)}}", as: .platformOwner,
            fields: [Field("if-match", "*")])
        #expect(put.status == 200, "\(put.text)")
        return try #require(put.json["violations"])
    }

    private func make(_ name: String, _ rest: String, _ fixture: UserFixture) async throws -> String
    {
        let made = try await fixture.send(
            .post, "", json: #"{"email":"\#(name)@example.com"\#(rest)}"#)
        return try #require(made.json["id"]?.string, "\(made.text)")
    }

    @Test func `a schema says how many users are not as it says, and who they are`() async throws {
        let fixture = try await UserFixture.make()
        let wrong = try await make("a", #","public_attributes":{"plan":"gold"}"#, fixture)
        let without = try await make("b", "", fixture)
        _ = try await make("c", #","public_attributes":{"plan":"team"}"#, fixture)
        let displaced = try await make(
            "d", #","public_attributes":{"plan":"team"},"private_attributes":{"plan":"team"}"#,
            fixture)
        let gone = try await make("e", "", fixture)
        #expect(try await fixture.send(.delete, "/\(gone)").status == 204)
        let free = try await put(#""team":{"type":"string"}"#, fixture)
        #expect(free["count"]?.int == 0 && free["exact"]?.bool == true)
        let found = try await put(#""plan":{"enum":["free","team"],"required":true}"#, fixture)
        #expect(found["count"]?.int == 3 && found["exact"]?.bool == true)
        let ids = (found["users"]?.array ?? []).compactMap(\.string)
        #expect(ids == [wrong, without, displaced].sorted())
        // Nothing is broken, and what is repaired is counted no more.
        let mended = try await fixture.send(
            .patch, "/\(wrong)", json: #"{"public_attributes":{"plan":"team"}}"#)
        #expect(mended.status == 200, "\(mended.text)")
        let read = try await fixture.service.send(.get, Self.path, as: .platformOwner)
        #expect(read.json["violations"]?["count"]?.int == 2)
        // A schema may be put as it was read, though the number has changed since.
        #expect(try await fixture.send(.delete, "/\(without)").status == 204)
        let again = try await fixture.service.send(
            .put, Self.path, json: read.text, as: .platformOwner,
            fields: [Field("if-match", try #require(read.first("etag")))])
        #expect(
            again.status == 200 && again.json["violations"]?["count"]?.int == 1, "\(again.text)")
        let changed = try await fixture.service.send(
            .put, Self.path, json: read.text.replacing(#""version":"#, with: #""version":9"#),
            as: .platformOwner, fields: [Field("if-match", "*")])
        #expect(changed.status == 422)
    }

    @Test func `the count ends at a limit and says so`() async throws {
        let fixture = try await UserFixture.make()
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            try await change.addUsers(1...AttributeViolations.readLimit + 1)
        }
        let found = try await put(#""plan":{"required":true}"#, fixture)
        #expect(found["count"]?.int == AttributeViolations.readLimit)
        #expect(found["exact"]?.bool == false)
        #expect(found["users"]?.array?.count == AttributeViolations.shownLimit)
    }
}
