import API
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The external ids that invites give.
@Suite(.cleansUp) struct InviteExternalIDTests {
    private func invite(
        _ fixture: UserFixture, _ email: String, _ id: String, more: String = ""
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, "/v1/tenants/acme/invites",
            json: "{\"email\":\"\(email)\",\"external_id\":\"\(id)\",\"delivery\":\"link\"\(more)}",
            as: .platformOwner)
    }

    @Test func `the user who accepts an invite has its external id`() async throws {
        let fixture = try await UserFixture.make()
        let made = try await invite(fixture, "ann@example.com", "crm-1")
        #expect(made.status == 201 && made.json["external_id"]?.string == "crm-1", "\(made.text)")
        #expect(try await fixture.emails("external_id=crm-1") == ["ann@example.com"])
        let accepted = try await fixture.service.send(
            .post, "/v1/invites/accept",
            json:
                "{\"token\":\"\(made.json["token"]?.string ?? "")\",\"name\":\"Ann\",\"password\":\"correct horse battery\"}"
        )
        #expect(accepted.status == 200, "\(accepted.text)")
        let user = try await fixture.send(.get, "?external_id=crm-1&status=active")
        #expect(user.json["items"]?.array?.first?["email"]?.string == "ann@example.com")
        let list = try await fixture.service.send(
            .get, "/v1/tenants/acme/invites?external_id=crm-1", as: .platformOwner)
        #expect(list.json["items"]?.array?.count == 1, "\(list.text)")
        let none = try await fixture.service.send(
            .get, "/v1/tenants/acme/invites?external_id=crm-2", as: .platformOwner)
        #expect(none.json["items"] == .array([]))
    }

    @Test func `an external id that is taken is refused, and nothing is left of the invite`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let first = try await fixture.send(
            .post, "", json: #"{"email":"ada@example.com","external_id":"crm-1"}"#)
        let taken = try await invite(fixture, "ann@example.com", "crm-1")
        #expect(taken.status == 409 && taken.json["conflicting_id"] == first.json["id"])
        let other = try await invite(fixture, "ada@example.com", "crm-2")
        #expect(other.status == 409 && other.json["conflicting_id"] == first.json["id"])
        let list = try await fixture.service.send(
            .post, "/v1/tenants/acme/invites",
            json: #"{"invites":[{"email":"a@b.example","external_id":"crm-1"},"#
                + #"{"email":"c@d.example","external_id":"crm-3"},"#
                + #"{"email":"e@f.example","external_id":"crm-3"}]}"#,
            as: .platformOwner)
        let results = (list.json["results"]?.array ?? []).map { $0["result"]?.string }
        #expect(results == ["refused", "created", "refused"], "\(list.text)")
        #expect(try await fixture.count("users") == 2)
        #expect(try await fixture.count("invites") == 1)
    }

    @Test func `repeating an invite changes nothing, and another external id is refused`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let made = try await invite(fixture, "ann@example.com", "crm-1")
        let again = try await invite(fixture, "ann@example.com", "crm-1")
        #expect(again.status == 200 && again.json["id"] == made.json["id"], "\(again.text)")
        for more in ["", ",\"resend\":true"] {
            let other = try await invite(fixture, "ann@example.com", "crm-2", more: more)
            #expect(other.status == 409, "\(other.text)")
        }
        let id = try #require(made.json["id"]?.string)
        let edited = try await fixture.service.send(
            .patch, "/v1/tenants/acme/invites/\(id)", json: #"{"external_id":"crm-2"}"#,
            as: .platformOwner)
        #expect(edited.status == 422, "\(edited.text)")
        let revoked = try await fixture.service.send(
            .post, "/v1/tenants/acme/invites/\(id)/revoke", as: .platformOwner)
        #expect(revoked.status == 200)
        #expect(try await invite(fixture, "ben@example.com", "crm-1").status == 201)
    }
}
