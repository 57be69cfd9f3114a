import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// The attributes that invites give.
@Suite(.serialized, .cleansUp) struct InviteAttributesTests {
    private static let invites = "/v1/tenants/acme/invites"

    private func invite(
        _ fixture: UserFixture, _ rest: String, email: String = "ann@example.com"
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, Self.invites, json: #"{"email":"\#(email)","delivery":"link",\#(rest)}"#,
            as: .platformOwner)
    }

    private func edit(
        _ fixture: UserFixture, _ invite: TestAnswer, _ json: String
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .patch, "\(Self.invites)/\(invite.json["id"]?.string ?? "")", json: json,
            as: .platformOwner)
    }

    private func accept(_ fixture: UserFixture, _ invite: TestAnswer) async throws -> JSONValue {
        let token = invite.json["token"]?.string ?? ""
        let accepted = try await fixture.service.send(
            .post, "/v1/invites/accept",
            json: #"{"token":"\#(token)","name":"Ann","password":"correct horse battery"}"#)
        #expect(accepted.status == 200, "\(accepted.text)")
        let found = try await fixture.send(.get, "?q=ann@example.com&status=active")
        return try #require(found.json["items"]?.array?.first, "\(found.text)")
    }

    private func put(_ rules: String, _ fixture: UserFixture) async throws {
        let put = try await fixture.service.send(
            .put, "/v1/tenants/acme/attribute-schema", json: "{\"attributes\":{\(rules)}}",
            as: .platformOwner, fields: [Field("if-match", "*")])
        #expect(put.status == 200, "\(put.text)")
    }

    private func faults(_ answer: TestAnswer) -> [String] {
        (answer.json["errors"]?.array ?? []).map {
            "\($0["pointer"]?.string ?? "") \($0["code"]?.string ?? "")"
        }
    }

    @Test func `a user who accepts an invite gets its attributes, and lists find the user by them`()
        async throws
    {
        let fixture = try await UserFixture.make()
        try await put(#""plan":{"indexed":true}"#, fixture)
        let made = try await invite(
            fixture,
            #""public_attributes":{"plan":"team","gone":null},"private_attributes":{"crm":7}"#)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["public_attributes"] == .object([.init("plan", .string("team"))]))
        #expect(made.json["private_attributes"]?["crm"]?.int == 7)
        // Until then they are the invite's alone.
        #expect(try await fixture.emails("attributes.plan=team") == [])
        let ann = try await accept(fixture, made)
        #expect(ann["public_attributes"] == .object([.init("plan", .string("team"))]))
        #expect(ann["private_attributes"]?["crm"]?.int == 7)
        #expect(try await fixture.emails("attributes.plan=team") == ["ann@example.com"])
        let events = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?action=user.updated", as: .platformOwner)
        #expect(events.json["items"]?.array?.count == 1)
        #expect(events.text.contains("plan") && !events.text.contains("team"), "\(events.text)")
    }

    @Test func `they are merged into what the row has`() async throws {
        let fixture = try await UserFixture.make()
        let row = try await fixture.send(
            .post, "",
            json:
                #"{"email":"ann@example.com","public_attributes":{"plan":"free","seat":{"row":1,"no":2}}}"#
        )
        #expect(row.status == 201)
        let made = try await invite(
            fixture, #""public_attributes":{"seat":{"no":3},"team":"blue"}"#)
        let before = try await fixture.send(.get, "/\(row.json["id"]?.string ?? "")")
        #expect(before.json["public_attributes"] == row.json["public_attributes"])
        let ann = try await accept(fixture, made)
        #expect(
            ann["public_attributes"]
                == (try JSONValue(
                    parsing: Array(#"{"plan":"free","seat":{"row":1,"no":3},"team":"blue"}"#.utf8)))
        )
    }

    @Test func `an invite is held to the schema when it is made and changed`() async throws {
        let fixture = try await UserFixture.make()
        try await put(
            #""plan":{"enum":["free","team"]},"crm":{"for":"private","required":true}"#, fixture)
        let wrong = try await invite(
            fixture, #""public_attributes":{"plan":"gold","crm":"x"}"#)
        #expect(wrong.status == 422)
        #expect(
            faults(wrong) == [
                "/public_attributes/plan not_allowed", "/public_attributes/crm not_allowed",
            ])
        #expect(try await fixture.count("users") == 0)
        let list = try await fixture.service.send(
            .post, Self.invites,
            json: #"{"invites":[{"email":"a@b.example","public_attributes":{"plan":"gold"}},"#
                + #"{"email":"c@d.example","public_attributes":{"plan":"team"}}]}"#,
            as: .platformOwner)
        let results = (list.json["results"]?.array ?? []).map {
            "\($0["result"]?.string ?? "") \($0["code"]?.string ?? "")"
        }
        #expect(results == ["refused validation_failed", "created "], "\(list.text)")
        let made = try await invite(fixture, #""public_attributes":{"plan":"free","team":"blue"}"#)
        let edited = try await edit(
            fixture, made, #"{"public_attributes":{"plan":"team","team":null}}"#)
        #expect(edited.status == 200, "\(edited.text)")
        #expect(edited.json["public_attributes"] == .object([.init("plan", .string("team"))]))
        let refused = try await edit(fixture, made, #"{"public_attributes":{"plan":"gold"}}"#)
        #expect(faults(refused) == ["/public_attributes/plan not_allowed"])
        let large = String(repeating: "a", count: 16_400)
        let long = try await edit(fixture, made, #"{"private_attributes":{"a":"\#(large)"}}"#)
        #expect(long.status == 422)
        let ann = try await accept(fixture, made)
        #expect(ann["public_attributes"] == .object([.init("plan", .string("team"))]))
    }

    @Test func `attributes that a later rule refuses are left out, and the person is admitted`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let made = try await invite(fixture, #""public_attributes":{"plan":"gold","team":"blue"}"#)
        try await put(#""plan":{"enum":["free","team"]}"#, fixture)
        let ann = try await accept(fixture, made)
        #expect(ann["public_attributes"] == .object([.init("team", .string("blue"))]))
        let events = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?action=invite.accepted", as: .platformOwner)
        let changes = events.json["items"]?.array?.first?["changes"]
        #expect(changes?["attributes_left_out"] != nil, "\(events.text)")
        #expect(events.text.contains(#""plan""#), "\(events.text)")
    }

    @Test func `repeating an invite changes nothing, and other attributes need resend`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let made = try await invite(fixture, #""public_attributes":{"plan":"team"}"#)
        let again = try await invite(fixture, #""public_attributes":{"plan":"team"}"#)
        #expect(again.status == 200 && again.json["id"] == made.json["id"], "\(again.text)")
        let other = try await invite(fixture, #""public_attributes":{"seat":1}"#)
        #expect(other.status == 409 && other.json["conflicting_id"] == made.json["id"])
        let sent = try await invite(fixture, #""public_attributes":{"seat":1},"resend":true"#)
        #expect(sent.status == 200, "\(sent.text)")
        let ann = try await accept(fixture, sent)
        #expect(
            ann["public_attributes"]
                == .object([.init("plan", .string("team")), .init("seat", .int(1))]))
    }

    @Test func `a purge takes the attributes of the person's invites along`() async throws {
        let fixture = try await UserFixture.make()
        let made = try await invite(fixture, #""private_attributes":{"note":"unmistakable"}"#)
        let ann = try await accept(fixture, made)
        let id = ann["id"]?.string ?? ""
        #expect(try await fixture.send(.delete, "/\(id)").status == 204)
        let asked = try await fixture.send(.delete, "/\(id)?purge=true")
        let confirm = asked.json["confirm"]?.string ?? ""
        let purged = try await fixture.send(.delete, "/\(id)?purge=true&confirm=\(confirm)")
        #expect([asked.status, purged.status].contains(204), "\(purged.text)")
        #expect(try await fixture.count("invites") == 0)
        #expect(try await fixture.count("users") == 0)
    }
}
