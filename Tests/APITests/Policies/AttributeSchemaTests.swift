import API
import Domain
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// What a tenant says of its users' attributes, and the lists by them.
@Suite(.serialized, .cleansUp) struct AttributeSchemaTests {
    private static let path = "/v1/tenants/acme/attribute-schema"

    private func put(
        _ rules: String, _ fixture: UserFixture, status: Int = 200
    ) async throws -> TestAnswer {
        let current = try await fixture.service.send(.get, Self.path, as: .platformOwner)
        let answer = try await fixture.service.send(
            .put, Self.path, json: "{\"attributes\":{\(rules)}}", as: .platformOwner,
            fields: [Field("if-match", try #require(current.first("etag")))])
        #expect(answer.status == status, "\(answer.text)")
        return answer
    }

    private func make(
        _ name: String, _ attributes: String, _ fixture: UserFixture, status: Int = 201
    ) async throws -> TestAnswer {
        let answer = try await fixture.send(
            .post, "", json: "{\"email\":\"\(name)@example.com\",\(attributes)}")
        #expect(answer.status == status, "\(answer.text)")
        return answer
    }

    private func faults(_ answer: TestAnswer) -> [String] {
        (answer.json["errors"]?.array ?? []).map {
            "\($0["pointer"]?.string ?? "") \($0["code"]?.string ?? "")"
        }
    }

    @Test func `a schema is put, read, and taken away`() async throws {
        let fixture = try await UserFixture.make()
        let empty = try await fixture.service.send(.get, Self.path, as: .platformOwner)
        #expect(
            empty.text == #"{"attributes":{},"version":0,"indexing":[],"#
                + #""violations":{"count":0,"exact":true,"users":[]}}"#)
        let put = try await put(
            #""plan":{"type":"string","enum":["free","team"],"indexed":true,"in_token":true}"#,
            fixture)
        let read = try await fixture.service.send(.get, Self.path, as: .platformOwner)
        #expect(read.json == put.json && put.json["version"]?.int == 1)
        #expect(put.json["attributes"]?["plan"]?["for"]?.string == "public")
        #expect(put.json["indexing"] == .array([]))
        let blind = try await fixture.service.send(
            .put, Self.path, json: read.text, as: .platformOwner)
        #expect(blind.status == 428)
        let again = try await fixture.service.send(
            .put, Self.path, json: read.text, as: .platformOwner,
            fields: [Field("if-match", try #require(read.first("etag")))])
        #expect(again.json["version"]?.int == 1, "\(again.text)")
        let late = try await fixture.service.send(
            .delete, Self.path, as: .platformOwner,
            fields: [Field("if-match", try #require(empty.first("etag")))])
        #expect(late.status == 412)
        let gone = try await fixture.service.send(.delete, Self.path, as: .platformOwner)
        #expect(gone.status == 204)
        let after = try await fixture.service.send(.get, Self.path, as: .platformOwner)
        #expect(after.json["attributes"] == .object([]) && after.json["version"]?.int == 2)
        #expect(
            try await fixture.count("audit_events WHERE action = 'attribute_schema.updated'") == 2)
    }

    @Test(arguments: [
        (#""a b":{}"#, "/attributes/a b invalid"),
        (#""a":{"type":"text"}"#, "/attributes/a/type not_allowed"),
        (#""a":{"for":"private","in_token":true}"#, "/attributes/a not_allowed"),
        (#""a":{"type":"array","indexed":true}"#, "/attributes/a not_allowed"),
        (#""a":{"enum":[]}"#, "/attributes/a invalid"),
        (#""a":{"pattern":"(a)\\1"}"#, "/attributes/a/pattern invalid"),
        (#""a":{"maxLength":-1}"#, "/attributes/a/maxLength out_of_range"),
        (#""a":{"default":1}"#, "/attributes/a/default unknown"),
        (
            (1...6).map { "\"n\($0)\":{\"indexed\":true}" }.joined(separator: ","),
            "/attributes too_long"
        ),
        ((1...65).map { "\"n\($0)\":{}" }.joined(separator: ","), "/attributes too_long"),
    ])
    func `a schema that cannot be is refused by its name`(
        _ rules: String, _ fault: String
    ) async throws {
        let fixture = try await UserFixture.make()
        #expect(faults(try await put(rules, fixture, status: 422)) == [fault])
    }

    @Test func `writes are held to the schema by their names`() async throws {
        let fixture = try await UserFixture.make()
        _ = try await put(
            #"""
            "plan":{"type":"string","enum":["free","team"],"required":true},
            "code":{"type":"string","pattern":"^[A-Z]{2}$","maxLength":2},
            "seats":{"type":"integer"},"rate":{"type":"number"},"vip":{"type":"boolean"},
            "tags":{"type":"array"},"place":{"type":"object"},
            "note":{"for":"private"},"key":{"indexed":true}
            """#, fixture)
        let long = String(repeating: "x", count: 256)
        for (attributes, fault) in [
            (#""public_attributes":{}"#, "/public_attributes/plan required"),
            (#""name":"Ada""#, "/public_attributes/plan required"),
            (#""public_attributes":{"plan":"pro"}"#, "/public_attributes/plan not_allowed"),
            (#""public_attributes":{"plan":1}"#, "/public_attributes/plan wrong_type"),
            (
                #""public_attributes":{"plan":"free","code":"abc"}"#,
                "/public_attributes/code too_long"
            ),
            (
                #""public_attributes":{"plan":"free","code":"ab"}"#,
                "/public_attributes/code invalid"
            ),
            (
                #""public_attributes":{"plan":"free","seats":1.5}"#,
                "/public_attributes/seats wrong_type"
            ),
            (
                #""public_attributes":{"plan":"free","rate":"1"}"#,
                "/public_attributes/rate wrong_type"
            ),
            (#""public_attributes":{"plan":"free","vip":0}"#, "/public_attributes/vip wrong_type"),
            (
                #""public_attributes":{"plan":"free","tags":{}}"#,
                "/public_attributes/tags wrong_type"
            ),
            (
                #""public_attributes":{"plan":"free","place":[]}"#,
                "/public_attributes/place wrong_type"
            ),
            (
                #""public_attributes":{"plan":"free","note":1}"#,
                "/public_attributes/note not_allowed"
            ),
            (#""public_attributes":{"plan":"free","key":[]}"#, "/public_attributes/key wrong_type"),
            (
                #""public_attributes":{"plan":"free","key":"\#(long)"}"#,
                "/public_attributes/key too_long"
            ),
        ] {
            let refused = try await make("ada", attributes, fixture, status: 422)
            #expect(faults(refused) == [fault], "\(attributes) \(refused.text)")
        }
        let made = try await make(
            "ada",
            #"""
            "public_attributes":{"plan":"free","code":"AB","seats":-7,"rate":1.5,"vip":true,"tags":[],
            "place":{},"free":{"x":1}},"private_attributes":{"note":[1]}
            """#, fixture)
        let id = try #require(made.json["id"]?.string)
        let removed = try await fixture.send(
            .patch, "/" + id, json: #"{"public_attributes":{"plan":null}}"#)
        #expect(faults(removed) == ["/public_attributes/plan required"])
    }

    @Test func `a row that is older than the schema can be edited, and keeps its other values`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let made = try await make("ada", #""public_attributes":{"plan":"old","x":1}"#, fixture)
        let bare = try await fixture.make("ben@example.com")
        let id = try #require(made.json["id"]?.string)
        _ = try await put(
            #""plan":{"enum":["free"],"required":true},"size":{"required":true}"#, fixture)
        for user in [id, bare] {
            let edited = try await fixture.send(
                .patch, "/" + user, json: #"{"name":"A","public_attributes":{"x":2}}"#)
            #expect(edited.status == 200, "\(edited.text)")
        }
        let worse = try await fixture.send(
            .patch, "/" + id, json: #"{"public_attributes":{"plan":"older"}}"#)
        #expect(faults(worse) == ["/public_attributes/plan not_allowed"])
    }

    @Test func `a list is filtered by indexed attributes, old and new, public and private`()
        async throws
    {
        let fixture = try await UserFixture.make()
        _ = try await make("old", #""public_attributes":{"plan":"team","n":7}"#, fixture)
        _ = try await put(
            #""plan":{"indexed":true},"n":{"indexed":true},"crm":{"for":"private","indexed":true}"#,
            fixture)
        let new = try await make(
            "new",
            #""public_attributes":{"plan":"team","n":7.0},"private_attributes":{"crm":true}"#,
            fixture)
        let id = try #require(new.json["id"]?.string)
        _ = try await make("other", #""public_attributes":{"plan":"Team"}"#, fixture)
        #expect(
            try await fixture.emails("attributes.plan=team")
                == ["new@example.com", "old@example.com"])
        #expect(
            try await fixture.emails("attributes.plan=team&sort=email&limit=1")
                == ["new@example.com"])
        #expect(try await fixture.emails("attributes.n=7") == ["old@example.com"])
        #expect(
            try await fixture.emails("attributes.plan=team&attributes.crm=true")
                == ["new@example.com"])
        #expect(try await fixture.emails("attributes.plan=team&q=old") == ["old@example.com"])
        #expect(try await fixture.emails("attributes.plan=team&status=suspended").isEmpty)
        #expect(try await fixture.emails("attributes.crm=team").isEmpty)
        let page = try await fixture.send(.get, "?attributes.plan=team&limit=1")
        #expect(page.json["total"]?["value"]?.int == 2)
        let cursor = try #require(page.json["next_cursor"]?.string)
        let next = try await fixture.send(.get, "?attributes.plan=team&limit=1&cursor=\(cursor)")
        #expect(next.json["items"]?.array?.first?["email"]?.string == "old@example.com")
        let other = try await fixture.send(.get, "?attributes.plan=Team&limit=1&cursor=\(cursor)")
        #expect(other.status == 422)
        _ = try await fixture.send(
            .patch, "/" + id, json: #"{"public_attributes":{"plan":"free"}}"#)
        #expect(try await fixture.emails("attributes.plan=team") == ["old@example.com"])
        #expect(try await fixture.emails("attributes.plan=free") == ["new@example.com"])
        for name in ["none", "", "a%20b"] {
            let answer = try await fixture.send(.get, "?attributes.\(name)=x")
            #expect(
                faults(answer) == [
                    "?attributes.\(name.isEmpty ? "" : name == "none" ? name : "a b") unknown"
                ])
        }
    }

    @Test func `a name that is no longer indexed cannot be filtered by, and its index entries go`()
        async throws
    {
        let fixture = try await UserFixture.make()
        _ = try await put(#""plan":{"indexed":true}"#, fixture)
        let made = try await make("ada", #""public_attributes":{"plan":"team"}"#, fixture)
        let id = try #require(made.json["id"]?.string)
        #expect(try await fixture.count("user_attributes") == 1)
        _ = try await put(#""plan":{}"#, fixture)
        #expect(try await fixture.count("user_attributes") == 0)
        #expect(try await fixture.send(.get, "?attributes.plan=team").status == 422)
        _ = try await fixture.send(.patch, "/" + id, json: #"{"public_attributes":{"plan":"x"}}"#)
        _ = try await put(#""plan":{"indexed":true}"#, fixture)
        #expect(try await fixture.emails("attributes.plan=x") == ["ada@example.com"])
        #expect(try await fixture.emails("attributes.plan=team").isEmpty)
        _ = try await put(#""plan":{"indexed":true,"for":"private"}"#, fixture)
        #expect(try await fixture.emails("attributes.plan=x").isEmpty)
    }

    @Test func `many users of before are read in rounds, and lists wait for the last`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let tenant = fixture.tenant.id
        try await fixture.service.storage.addUsers(1...10_600, to: tenant)
        try await fixture.service.storage.scope(tenant).change(by: .system) { change in
            try await change.query(
                """
                UPDATE users SET public_attributes = '{"plan":"team"}' WHERE tenant_id = \(tenant)
                """)
            try await change.putInSearch("email_key || ' '", where: "true")
        }
        let put = try await put(#""plan":{"indexed":true}"#, fixture)
        #expect(put.json["indexing"] == .array([.string("plan")]))
        let early = try await fixture.send(.get, "?attributes.plan=team")
        #expect(faults(early) == ["?attributes.plan not_allowed"])
        // Edited meanwhile: the index has what is stored.
        _ = try await make("ada", #""public_attributes":{"plan":"free"}"#, fixture)
        try await fixture.service.storage.indexAttributes()
        #expect(try await fixture.emails("attributes.plan=free") == ["ada@example.com"])
        let many = try await fixture.send(.get, "?attributes.plan=team&limit=200")
        #expect(many.json["items"]?.array?.count == 200, "\(many.text)")
        #expect(many.json["total"]?["exact"] == .bool(false))
        var emails: Set<String> = []
        for sort in ["-created_at", "created_at", "email"] {
            var query = "?attributes.plan=team&limit=200&sort=\(sort)"
            for _ in 0..<3 {
                let page = try await fixture.send(.get, query)
                #expect(page.json["items"]?.array?.count == 200)
                for item in page.json["items"]?.array ?? [] {
                    emails.insert(sort + (item["email"]?.string ?? ""))
                }
                query =
                    "?attributes.plan=team&limit=200&sort=\(sort)&cursor="
                    + (page.json["next_cursor"]?.string ?? "")
            }
        }
        #expect(emails.count == 1800)
        #expect(try await fixture.emails("attributes.plan=team&status=suspended").isEmpty)
        let one = try await fixture.send(.get, "?attributes.plan=team&q=4711@")
        #expect(one.json["items"]?.array?.map { $0["email"]?.string } == ["4711@acme.example"])
        #expect(one.json["total"]?["value"]?.int == 1, "\(one.text)")
        #expect(one.json["total"]?["exact"] == .bool(true))
        let frequent = try await fixture.send(.get, "?attributes.plan=team&q=acme&limit=10")
        #expect(frequent.json["items"]?.array?.count == 10)
    }

    @Test func `tenants share neither schema nor index`() async throws {
        let fixture = try await UserFixture.make()
        let other = try await fixture.service.makeTenant("other")
        _ = try await put(#""plan":{"indexed":true,"required":true}"#, fixture)
        _ = try await make("ada", #""public_attributes":{"plan":"team"}"#, fixture)
        let users = "/v1/tenants/other/users"
        let made = try await fixture.service.send(
            .post, users, json: #"{"email":"ada@example.com"}"#, as: .tenantAdmin(other))
        #expect(made.status == 201, "\(made.text)")
        let list = try await fixture.service.send(
            .get, users + "?attributes.plan=team", as: .tenantAdmin(other))
        #expect(list.status == 422)
        let foreign = try await fixture.service.send(
            .get, Self.path, as: .tenantAdmin(other))
        #expect(foreign.status == 404)
        let set = try await fixture.service.send(
            .put, "/v1/tenants/other/attribute-schema",
            json: #"{"attributes":{"plan":{"indexed":true}}}"#, as: .platformOwner,
            fields: [Field("if-match", "*")])
        #expect(set.status == 200)
        let empty = try await fixture.service.send(
            .get, users + "?attributes.plan=team", as: .tenantAdmin(other))
        #expect(empty.json["items"] == .array([]), "\(empty.text)")
        for sql in ["user_attributes", "attribute_schemas"] as [SQL] {
            let rows = try await fixture.service.storage.scope(other.id).read(
                "/* test */ SELECT count(*) FROM \(sql) WHERE tenant_id = \(fixture.tenant.id)")
            #expect(try rows[0].get(0, as: Int.self) == 0)
        }
    }

    @Test func `a purge removes a user's words from the index`() async throws {
        let fixture = try await UserFixture.make()
        _ = try await put(#""plan":{"indexed":true}"#, fixture)
        let made = try await make("ada", #""public_attributes":{"plan":"team"}"#, fixture)
        let id = try #require(made.json["id"]?.string)
        #expect(try await fixture.send(.delete, "/" + id).status == 204)
        #expect(try await fixture.emails("attributes.plan=team").isEmpty)
        #expect(
            try await fixture.emails("attributes.plan=team&status=deleted") == ["ada@example.com"])
        let asked = try await fixture.send(.delete, "/\(id)?purge=true")
        let confirm = try #require(asked.json["confirm"]?.string)
        _ = try await fixture.send(.delete, "/\(id)?purge=true&confirm=\(confirm)")
        #expect(try await fixture.count("user_attributes") == 0)
    }

    @Test func `attributes in tokens are limited, and include what fits`() async throws {
        let fixture = try await UserFixture.make()
        let long = String(repeating: "x", count: 1000)
        let made = try await make(
            "ada", "\"public_attributes\":{\"a\":\"\(long)\",\"b\":\"\(long)\",\"c\":1}", fixture)
        _ = try await put(
            #""b":{"in_token":true},"a":{"in_token":true},"c":{"in_token":true}"#, fixture)
        let refused = try await make(
            "ben", "\"public_attributes\":{\"a\":\"\(long)\",\"b\":\"\(long)\"}", fixture,
            status: 422)
        #expect(faults(refused) == ["/public_attributes too_long"])
        let id = try #require(UUID(made.json["id"]?.string ?? ""))
        let scope = fixture.service.storage.scope(fixture.tenant.id)
        let user = try #require(try await scope.user(id))
        let carried = try await scope.attributeSchema().schema.inToken(user.attributes.public)
        #expect(carried.map(\.name) == ["b", "c"])
    }
}
