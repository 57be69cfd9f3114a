import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The loser's address is the winner's in the rules.
@Suite(.serialized, .cleansUp) struct MergeRulesTests {
    private struct Place {
        let fixture: ProvisioningFixture
        let winner: String
        let loser: String
        var merge = ""

        func act(_ path: String, _ json: String? = nil) async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/tenants/acme/users/\(path)", json: json,
                as: .tenantAdmin(fixture.tenant))
        }

        func users() async throws -> Int { try await fixture.count("users") }
    }

    /// Ann at two addresses, of which the second is merged into the first. `isActive`: she has
    /// signed in at the first.
    private func merged(
        isActive: Bool, policy: String = #"{"sign_up":"open"}"#
    ) async throws -> Place {
        let fixture = try await ProvisioningFixture.make(policy: policy)
        let winner = try await fixture.row("ann@ex.com")
        let loser = try await fixture.row("ann@gmail.example")
        if isActive {
            let first = try await fixture.google("ann", "ann@ex.com")
            #expect(first.json["outcome"]?.string == "linked", "\(first.text)")
        }
        var place = Place(
            fixture: fixture, winner: winner.description, loser: loser.description)
        let merge = try await place.act(
            "merges", #"{"winner":"\#(winner)","loser":"\#(loser)"}"#)
        place.merge = try #require(merge.json["id"]?.string, "\(merge.text)")
        return place
    }

    private func expect(
        _ answer: TestAnswer, _ outcome: String, _ reason: String? = nil, _ place: Place,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(
            answer.json["outcome"]?.string == outcome, "\(answer.text)",
            sourceLocation: sourceLocation)
        #expect(
            answer.json["reason"]?.string == reason, "\(answer.text)",
            sourceLocation: sourceLocation)
        // No third user, though the tenant is open to all.
        #expect(try await place.users() == 1, sourceLocation: sourceLocation)
    }

    @Test func `a repeated hook event names the winner, and after the undo the loser again`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make(policy: #"{"sign_up":"open"}"#)
        var ids: [String] = []
        func event(_ name: String) async throws -> String {
            let answer = try await fixture.google(
                name, "\(name)@ex.com", more: #","tenant":"acme","event_id":"e-\#(name)""#)
            return try #require(answer.json["user"]?["id"]?.string, "\(answer.text)")
        }
        for name in ["ann", "bob"] { ids.append(try await event(name)) }
        let place = Place(fixture: fixture, winner: ids[0], loser: ids[1])
        let merge = try await place.act(
            "merges", #"{"winner":"\#(ids[0])","loser":"\#(ids[1])"}"#)
        #expect(merge.status == 201, "\(merge.text)")
        #expect(try await event("bob") == ids[0])
        #expect(try await event("ann") == ids[0])
        let undone = try await place.act("merges/\(merge.json["id"]?.string ?? "")/undo")
        #expect(undone.status == 200, "\(undone.text)")
        #expect(try await event("bob") == ids[1])
    }

    @Test func `rule 4 finds the tenant of the winner by the loser's address`() async throws {
        let place = try await merged(isActive: false, policy: "{}")
        // Without a tenant in the call.
        let linked = try await place.fixture.google("new", "ann@gmail.example")
        try await expect(linked, "linked", nil, place)
        #expect(linked.json["user"]?["id"]?.string == place.winner, "\(linked.text)")
        // Rule 1 knows the new sign-in by itself from now on.
        let again = try await place.fixture.google("new", "other@ex.com")
        try await expect(again, "existing", nil, place)
        #expect(again.json["user"]?["id"]?.string == place.winner, "\(again.text)")
    }

    @Test func `rule 8 judges a new sign-in with the loser's address as a second of the winner`()
        async throws
    {
        let place = try await merged(isActive: true)
        for more in ["", #","tenant":"acme""#] {
            let refused = try await place.fixture.google("new", "ann@gmail.example", more: more)
            try await expect(refused, "refused", "identity_link_required", place)
        }
        let grant = try await place.act("\(place.winner)/link-grants")
        let token = try #require(grant.json["token"]?.string, "\(grant.text)")
        let linked = try await place.fixture.google(
            "new", "ann@gmail.example", more: #","link_grant":"\#(token)""#)
        try await expect(linked, "linked", nil, place)
        #expect(linked.json["user"]?["id"]?.string == place.winner, "\(linked.text)")
    }

    @Test func `rules 1 and 4 refuse a suspended winner by either address`() async throws {
        let place = try await merged(isActive: true)
        #expect(try await place.act("\(place.winner)/suspend").status == 200)
        let tries = [
            ("ann", "ann@ex.com"), ("ann", "ann@gmail.example"), ("new", "ann@gmail.example"),
        ]
        for (subject, email) in tries {
            let refused = try await place.fixture.google(
                subject, email, more: #","tenant":"acme""#)
            try await expect(refused, "refused", "user_suspended", place)
        }
    }

    @Test func `after the undo the loser's address is the loser's again`() async throws {
        let place = try await merged(isActive: true)
        #expect(try await place.act("merges/\(place.merge)/undo").status == 200)
        let linked = try await place.fixture.google("new", "ann@gmail.example")
        #expect(linked.json["outcome"]?.string == "linked", "\(linked.text)")
        #expect(linked.json["user"]?["id"]?.string == place.loser, "\(linked.text)")
    }
}
