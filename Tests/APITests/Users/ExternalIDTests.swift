import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The ids that users have in the customer's own system.
@Suite(.serialized, .cleansUp) struct ExternalIDTests {
    @Test func `a user is found by the external id`() async throws {
        let fixture = try await UserFixture.make()
        let made = try await fixture.send(
            .post, "", json: #"{"email":"ada@example.com","external_id":"crm-4711"}"#)
        #expect(made.status == 201 && made.json["external_id"]?.string == "crm-4711")
        let other = try await fixture.make("ben@example.com")
        let without = try await fixture.send(.get, "/" + other)
        #expect(without.json["external_id"] == .null)
        let list = try await fixture.send(.get, "?external_id=crm-4711")
        #expect(list.json["items"] == .array([made.json]), "\(list.text)")
        #expect(try await fixture.emails("external_id=crm-47").isEmpty)
        #expect(try await fixture.emails("external_id=crm-4711&q=ben").isEmpty)
        #expect(try await fixture.emails("external_id=crm-4711&status=active").isEmpty)
    }

    @Test func `a change is recorded and null clears it`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com", name: "Ada")
        let set = try await fixture.send(.patch, "/" + id, json: #"{"external_id":"a"}"#)
        #expect(set.json["external_id"]?.string == "a" && set.json["name"]?.string == "Ada")
        let again = try await fixture.send(.patch, "/" + id, json: #"{"external_id":"a"}"#)
        #expect(again.first("etag") == set.first("etag"))
        let renamed = try await fixture.send(.patch, "/" + id, json: #"{"name":"Ada L."}"#)
        #expect(renamed.json["external_id"]?.string == "a")
        let cleared = try await fixture.send(.patch, "/" + id, json: #"{"external_id":null}"#)
        #expect(cleared.json["external_id"] == .null)
        #expect(try await fixture.emails("external_id=a").isEmpty)
        let recorded = try await fixture.count(
            """
            audit_events WHERE action = 'user.updated'
                AND changes -> 'external_id' IN ('[null, "a"]', '["a", null]')
            """)
        #expect(recorded == 2)
    }

    @Test func `one live user of a tenant has an external id`() async throws {
        let fixture = try await UserFixture.make()
        let made = try await fixture.send(
            .post, "", json: #"{"email":"ada@example.com","external_id":"a"}"#)
        let first = try #require(made.json["id"]?.string)
        let second = try await fixture.send(
            .post, "", json: #"{"email":"ben@example.com","external_id":"a"}"#)
        #expect(second.status == 409 && second.json["code"]?.string == "conflict")
        #expect(second.json["conflicting_id"]?.string == first)
        #expect(try await fixture.count("users") == 1)
        let ben = try await fixture.make("ben@example.com")
        let taken = try await fixture.send(.patch, "/" + ben, json: #"{"external_id":"a"}"#)
        #expect(taken.status == 409 && taken.json["conflicting_id"]?.string == first)
    }

    @Test func `a deleted user frees the external id and gets it back if it is free`() async throws
    {
        let fixture = try await UserFixture.make()
        let made = try await fixture.send(
            .post, "", json: #"{"email":"ada@example.com","external_id":"a"}"#)
        let first = try #require(made.json["id"]?.string)
        #expect(try await fixture.send(.delete, "/" + first).status == 204)
        #expect(try await fixture.emails("external_id=a").isEmpty)
        #expect(try await fixture.emails("external_id=a&status=deleted") == ["ada@example.com"])
        let ben = try await fixture.make("ben@example.com")
        let set = try await fixture.send(.patch, "/" + ben, json: #"{"external_id":"a"}"#)
        #expect(set.status == 200, "\(set.text)")
        let refused = try await fixture.send(.post, "/\(first)/restore")
        #expect(refused.status == 409 && refused.json["conflicting_id"]?.string == ben)
        _ = try await fixture.send(.patch, "/" + ben, json: #"{"external_id":null}"#)
        let restored = try await fixture.send(.post, "/\(first)/restore")
        #expect(restored.json["external_id"]?.string == "a", "\(restored.text)")
    }

    @Test func `tenants do not share external ids`() async throws {
        let fixture = try await UserFixture.make()
        let other = try await fixture.service.makeTenant("other")
        let json = #"{"email":"ada@example.com","external_id":"a"}"#
        #expect(try await fixture.send(.post, "", json: json).status == 201)
        let users = "/v1/tenants/other/users"
        let empty = try await fixture.service.send(
            .get, users + "?external_id=a", as: .tenantAdmin(other))
        #expect(empty.json["items"] == .array([]))
        let made = try await fixture.service.send(
            .post, users, json: json, as: .tenantAdmin(other))
        #expect(made.status == 201, "\(made.text)")
    }

    @Test func `external ids are compared byte by byte`() async throws {
        let fixture = try await UserFixture.make()
        let one = try await fixture.make("ada@example.com")
        let two = try await fixture.make("ben@example.com")
        let (composed, decomposed) = (
            "{\"external_id\":\"\u{E9}\"}", "{\"external_id\":\"e\u{301}\"}"
        )
        #expect(try await fixture.send(.patch, "/" + one, json: composed).status == 200)
        #expect(try await fixture.send(.patch, "/" + two, json: decomposed).status == 200)
        #expect(try await fixture.emails("external_id=%C3%A9") == ["ada@example.com"])
        #expect(try await fixture.emails("external_id=e%CC%81") == ["ben@example.com"])
        _ = try await fixture.send(.patch, "/" + two, json: #"{"external_id":null}"#)
        #expect(try await fixture.send(.patch, "/" + one, json: decomposed).status == 200)
        #expect(try await fixture.emails("external_id=e%CC%81") == ["ada@example.com"])
    }

    @Test func `a bad external id is refused by its field`() async throws {
        let fixture = try await UserFixture.make()
        let bad = [
            "\"\"", "4711", "\"a\\u0007\"", "\"\(String(repeating: "a", count: 256))\"",
            "\"\(String(repeating: "\u{E9}", count: 128))\"",
        ]
        for value in bad {
            let answer = try await fixture.send(
                .post, "", json: "{\"email\":\"ada@example.com\",\"external_id\":\(value)}")
            #expect(answer.status == 422, "\(value)")
            let fields = (answer.json["errors"]?.array ?? []).map { $0["pointer"]?.string }
            #expect(fields == ["/external_id"], "\(answer.text)")
        }
        let longest = String(repeating: "\u{E9}", count: 127)
        let made = try await fixture.send(
            .post, "", json: "{\"email\":\"ada@example.com\",\"external_id\":\"\(longest)\"}")
        #expect(made.json["external_id"]?.string == longest, "\(made.text)")
    }

    @Test func `a member does not change the own external id`() async throws {
        let fixture = try await RightsFixture.make(try await UserFixture.make())
        let member = try #require(fixture.people[.member])
        let key = try await fixture.key(RightsFixture.every, owner: member)
        let path = "/v1/tenants/acme/users/\(member)"
        for json in [#"{"external_id":"a"}"#, #"{"name":"Mo","external_id":"a"}"#] {
            let answer = try await fixture.base.service.send(
                .patch, path, json: json, as: .bearer(key))
            #expect(answer.status == 403, "\(answer.text)")
        }
        #expect(try await fixture.base.count("users WHERE external_id IS NOT NULL") == 0)
    }

    @Test func `of many who take an external id at once one gets it`() async throws {
        let fixture = try await UserFixture.make()
        var ids: [String] = []
        for number in 0..<6 { ids.append(try await fixture.make("\(number)@example.com")) }
        let changed = ids
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<6 {
                group.addTask {
                    try await fixture.send(
                        .post, "",
                        json: "{\"email\":\"n\(number)@example.com\",\"external_id\":\"a\"}"
                    ).status
                }
                group.addTask {
                    try await fixture.send(
                        .patch, "/" + changed[number], json: #"{"external_id":"a"}"#
                    ).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 409 }.count == 11, "\(statuses)")
        #expect(try await fixture.count("users WHERE external_id = 'a'") == 1)
    }

    @Test func `a purge removes the external id from the audit log`() async throws {
        let fixture = try await UserFixture.make()
        let made = try await fixture.send(
            .post, "", json: #"{"email":"ada@example.com","external_id":"crm-4711"}"#)
        let id = try #require(made.json["id"]?.string)
        #expect(try await fixture.count("audit_events WHERE changes::text LIKE '%crm-4711%'") == 1)
        let asked = try await fixture.send(.delete, "/\(id)?purge=true")
        let confirm = try #require(asked.json["confirm"]?.string)
        let purged = try await fixture.send(.delete, "/\(id)?purge=true&confirm=\(confirm)")
        #expect(purged.status == 204)
        #expect(try await fixture.count("audit_events WHERE changes::text LIKE '%crm-4711%'") == 0)
    }
}
