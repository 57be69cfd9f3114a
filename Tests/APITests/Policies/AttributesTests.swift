import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The attributes that customers keep of their users.
@Suite(.serialized, .cleansUp) struct AttributesTests {
    private func text(_ value: JSONValue?) -> String {
        value.map { String(decoding: $0.encoded(), as: UTF8.self) } ?? "absent"
    }

    @Test func `a user is made with attributes and shown with them everywhere`() async throws {
        let fixture = try await UserFixture.make()
        let made = try await fixture.send(
            .post, "",
            json: """
                {"email":"ada@example.com","public_attributes":{"z":1.0,"a":{"b":[true,"é"]}},
                 "private_attributes":{"credit":"good"}}
                """)
        #expect(made.status == 201, "\(made.text)")
        #expect(text(made.json["public_attributes"]) == #"{"z":1.0,"a":{"b":[true,"é"]}}"#)
        #expect(text(made.json["private_attributes"]) == #"{"credit":"good"}"#)
        let id = try #require(made.json["id"]?.string)
        #expect(try await fixture.send(.get, "/" + id).json == made.json)
        #expect(try await fixture.send(.get, "").json["items"] == .array([made.json]))
        let without = try await fixture.send(.post, "", json: #"{"email":"ben@example.com"}"#)
        #expect(text(without.json["public_attributes"]) == "{}")
        #expect(text(without.json["private_attributes"]) == "{}")
    }

    /// The examples of RFC 7396, appendix A, whose results are objects.
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
        (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        (#"{"a":"b"}"#, "null", "{}"),
    ])
    func `a change is merged as RFC 7396 says`(
        _ before: String, _ change: String, _ after: String
    ) async throws {
        let fixture = try await UserFixture.make()
        let made = try await fixture.send(
            .post, "", json: "{\"email\":\"ada@example.com\",\"private_attributes\":\(before)}")
        let id = try #require(made.json["id"]?.string)
        let changed = try await fixture.send(
            .patch, "/" + id, json: "{\"private_attributes\":\(change)}")
        #expect(text(changed.json["private_attributes"]) == after, "\(changed.text)")
        #expect(text(changed.json["public_attributes"]) == "{}")
        #expect(text(try await fixture.send(.get, "/" + id).json["private_attributes"]) == after)
    }

    @Test func `a change is recorded by its names only, and an unchanged value is no change`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com", name: "Ada")
        let json =
            #"{"public_attributes":{"plan":"team","seat":7},"private_attributes":{"x":"s3"}}"#
        let set = try await fixture.send(.patch, "/" + id, json: json)
        #expect(set.status == 200 && set.json["name"]?.string == "Ada")
        let again = try await fixture.send(.patch, "/" + id, json: json)
        #expect(again.first("etag") == set.first("etag"))
        let renamed = try await fixture.send(.patch, "/" + id, json: #"{"name":"Ada L."}"#)
        #expect(renamed.json["public_attributes"] == set.json["public_attributes"])
        let removed = try await fixture.send(
            .patch, "/" + id, json: #"{"public_attributes":{"seat":null}}"#)
        #expect(text(removed.json["public_attributes"]) == #"{"plan":"team"}"#)
        #expect(removed.first("etag") != set.first("etag"))
        let first = try await fixture.count(
            """
            audit_events WHERE action = 'user.updated' AND changes =
                '{"public_attributes": [null, ["plan", "seat"]], "private_attributes": [null, ["x"]]}'
            """)
        let second = try await fixture.count(
            """
            audit_events WHERE action = 'user.updated'
                AND changes = '{"public_attributes": [null, ["seat"]]}'
            """)
        #expect(first == 1 && second == 1)
        #expect(try await fixture.count("audit_events WHERE changes::text LIKE '%s3%'") == 0)
        let events = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events", as: .tenantAdmin(fixture.tenant))
        #expect(events.text.contains(#""private_attributes":[null,["x"]]"#), "\(events.text)")
    }

    @Test func `each exceeded limit is reported with its member`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        func fault(_ json: String) async throws -> String {
            let answer = try await fixture.send(.patch, "/" + id, json: json)
            let pointers = (answer.json["errors"]?.array ?? []).compactMap { $0["pointer"]?.string }
            return "\(answer.status) \(pointers.joined(separator: " "))"
        }
        let wide = (0..<64).map { "\"n\($0)\":0" }.joined(separator: ",")
        let name = String(repeating: "n", count: 64)
        let most = String(repeating: "\u{E9}", count: 8187) + "ab"
        for (object, other) in [
            ("public_attributes", "private_attributes"),
            ("private_attributes", "public_attributes"),
        ] {
            let one = "422 /\(object)"
            #expect(try await fault("{\"\(object)\":{\"a b\":1}}") == one + "/a b")
            #expect(try await fault("{\"\(object)\":{\"\":1}}") == one + "/")
            #expect(try await fault("{\"\(object)\":{\"\(name)n\":1}}") == one + "/\(name)n")
            #expect(try await fault("{\"\(object)\":{\"\u{E9}\":null}}") == one + "/\u{E9}")
            #expect(try await fault("{\"\(object)\":{\"d\":[[[[[]]]]]}}") == one + "/d")
            #expect(try await fault("{\"\(object)\":{\"d\":{\"e\":[[{\"f\":[]}]]}}}") == one + "/d")
            #expect(try await fault("{\"\(object)\":[]}") == one)
            #expect(try await fault("{\"\(object)\":{\"t\":\"\(most)c\"}}") == one)
            #expect(try await fault("{\"\(object)\":{\(wide),\"more\":1}}") == one)
            #expect(try await fault("{\"\(object)\":{\"\(name)\":[[[[]]]]}}") == "200 ")
            #expect(try await fault("{\"\(object)\":null}") == "200 ")
            #expect(try await fault("{\"\(object)\":{\(wide)}}") == "200 ")
            #expect(try await fault("{\"\(object)\":{\"more\":1}}") == one)
            #expect(try await fault("{\"\(object)\":{\"n0\":null,\"more\":1}}") == "200 ")
            #expect(try await fault("{\"\(object)\":null,\"\(other)\":null}") == "200 ")
            #expect(try await fault("{\"\(object)\":{\"t\":\"\(most)\"}}") == "200 ")
            #expect(try await fault("{\"\(object)\":{\"u\":1}}") == one)
            #expect(try await fault("{\"\(object)\":null,\"\(other)\":{\"u\":1}}") == "200 ")
        }
        #expect(most.utf8.count + #"{"t":""}"#.utf8.count == 16384)
        let tooMany = try await fixture.send(
            .post, "", json: "{\"email\":\"b@example.com\",\"public_attributes\":{\(wide),\"m\":1}}"
        )
        #expect(tooMany.status == 422, "\(tooMany.text)")
        #expect(try await fixture.count("users") == 1)
    }

    @Test func `a member sees their own public attributes and cannot change them`() async throws {
        let fixture = try await RightsFixture.make(try await UserFixture.make())
        let member = try #require(fixture.people[.member])
        let path = "/v1/tenants/acme/users/\(member)"
        let set = try await fixture.base.service.send(
            .patch, path, json: #"{"public_attributes":{"a":1},"private_attributes":{"b":2}}"#,
            as: .tenantAdmin(fixture.base.tenant))
        #expect(set.status == 200, "\(set.text)")
        let key = try await fixture.key(RightsFixture.every, owner: member)
        for json in [
            #"{"public_attributes":{"a":2}}"#, #"{"name":"Mo","public_attributes":null}"#,
            #"{"private_attributes":{"b":2}}"#, #"{"private_attributes":{}}"#,
        ] {
            let answer = try await fixture.base.service.send(
                .patch, path, json: json, as: .bearer(key))
            #expect(answer.status == 403, "\(answer.text)")
        }
        let renamed = try await fixture.base.service.send(
            .patch, path, json: #"{"name":"Mo"}"#, as: .bearer(key))
        let own = try await fixture.base.service.send(.get, path, as: .bearer(key))
        let list = try await fixture.base.service.send(
            .get, "/v1/tenants/acme/users", as: .bearer(key))
        for answer in [renamed, own, list] {
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.text.contains(#""public_attributes":{"a":1}"#), "\(answer.text)")
            #expect(!answer.text.contains("private_attributes"), "\(answer.text)")
        }
    }

    @Test func `a purge leaves no name of an attribute in the audit log`() async throws {
        let fixture = try await UserFixture.make()
        let made = try await fixture.send(
            .post, "", json: #"{"email":"ada@example.com","private_attributes":{"crm-note":1}}"#)
        let id = try #require(made.json["id"]?.string)
        #expect(try await fixture.count("audit_events WHERE changes::text LIKE '%crm-note%'") == 1)
        let asked = try await fixture.send(.delete, "/\(id)?purge=true")
        let confirm = try #require(asked.json["confirm"]?.string)
        let purged = try await fixture.send(.delete, "/\(id)?purge=true&confirm=\(confirm)")
        #expect(purged.status == 204)
        #expect(try await fixture.count("audit_events WHERE changes::text LIKE '%crm-note%'") == 0)
    }
}
