import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Whole lists as files.
@Suite(.serialized, .cleansUp) struct ExportTests {
    private static let users = "/v1/tenants/acme/users"
    private static let csv = [Field("accept", "text/csv")]
    private static let lines = [Field("accept", "application/x-ndjson")]

    @Test func `a file has every user once, in the list's order and shape`() async throws {
        let fixture = try await UserFixture.make()
        try await add(1...450, to: fixture)
        for sort in ["-created_at", "created_at", "email", "-email"] {
            let listed = try await items(fixture, "sort=\(sort)")
            #expect(listed.count == 450)
            let file = try await fixture.send(.get, "?sort=\(sort)", fields: Self.lines)
            #expect(file.first("content-type") == "application/x-ndjson")
            #expect(!file.isCut && file.bytes.last == 0x0A)
            let exported = try file.bytes.split(separator: 0x0A).map {
                try JSONValue(parsing: Array($0))
            }
            #expect(exported == listed)
            let table = try CSVFile(
                try await fixture.send(.get, "?sort=\(sort)", fields: Self.csv).bytes)
            #expect(table["email"] == listed.map { $0["email"]?.string ?? "" })
        }
    }

    @Test func `the file says its type, its name, and what it varies by`() async throws {
        let fixture = try await UserFixture.make()
        _ = try await fixture.make("ada@acme.example", name: "Ada")
        let file = try await fixture.send(.get, "", fields: Self.csv)
        #expect(file.first("content-type") == "text/csv; charset=utf-8; header=present")
        #expect(file.first("vary") == "Accept, Origin")
        #expect(file.first("cache-control") == "no-store")
        let day = try #require(
            file.text.split(separator: ",").first { $0.hasPrefix("20") && $0.contains("T") })
        #expect(
            file.first("content-disposition")
                == "attachment; filename=\"users-acme-\(day.prefix(10)).csv\"")
        #expect(
            file.text.hasPrefix(
                "id,tenant_id,email,email_verified_at,name,role,status,source,joined_by.type,"
                    + "joined_by.id,external_id,keep,merged_ids,public_attributes,private_attributes,identities,created_at,updated_at,last_sign_in_at\r\n"
            ))
        for accept in ["*/*", "application/json", "text/html", "text/html, */*;q=0.8"] {
            let page = try await fixture.send(.get, "", fields: [Field("accept", accept)])
            #expect(page.first("content-type") == "application/json", "\(accept)")
            #expect(page.first("vary") == "Accept, Origin")
        }
        let head = try await fixture.send(.head, "", fields: Self.csv)
        #expect(head.status == 200)
        #expect(head.first("content-type") == file.first("content-type"))
    }

    @Test func `a file follows the filters, and a part of a list is no file`() async throws {
        let fixture = try await UserFixture.make()
        try await add(1...230, to: fixture)
        _ = try await fixture.make("ada@acme.example", name: "Ada")
        let found = try CSVFile(
            try await fixture.send(.get, "?q=ada&status=pending", fields: Self.csv).bytes)
        #expect(found["email"] == ["ada@acme.example"])
        let active = try CSVFile(
            try await fixture.send(.get, "?status=active", fields: Self.csv).bytes)
        #expect(active.rows.count == 230)
        let none = try await fixture.send(.get, "?q=nobody-has-this", fields: Self.csv)
        #expect(try CSVFile(none.bytes).rows.isEmpty)
        let empty = try await fixture.send(.get, "?q=nobody-has-this", fields: Self.lines)
        #expect(empty.status == 200 && empty.bytes.isEmpty && !empty.isCut)
        let part = try await fixture.send(
            .get, "?limit=10&cursor=abc&status=none", fields: Self.csv)
        #expect(part.status == 422 && part.first("content-type") == "application/problem+json")
        #expect(
            try part.response.errors() == [
                "?status not_allowed", "?limit not_allowed", "?cursor not_allowed",
            ])
    }

    @Test func `users are listed and exported by their ids, and no others`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await fixture.make("ada@acme.example")
        let bob = try await fixture.make("bob@acme.example")
        let eve = try await fixture.make("eve@acme.example")
        #expect(try await fixture.send(.delete, "/\(bob)").status == 204)
        let stranger = UUID.random()
        let wanted = "ids=\(eve),\(stranger),\(bob),\(eve)"
        #expect(
            try await fixture.emails("sort=email&" + wanted) == [
                "bob@acme.example", "eve@acme.example",
            ])
        #expect(try await fixture.emails("status=pending&" + wanted) == ["eve@acme.example"])
        #expect(try await fixture.emails("q=ada&" + wanted).isEmpty)
        #expect(try await fixture.emails("q=ada&ids=\(ada)") == ["ada@acme.example"])
        #expect(try await fixture.send(.get, "?ids=").status == 422)
        #expect(try await fixture.send(.get, "?ids=x").status == 422)
        let file = try await fixture.send(.get, "?sort=email&" + wanted, fields: Self.csv)
        #expect(try CSVFile(file.bytes)["id"] == [bob, eve])
    }

    @Test func `cells that a spreadsheet would calculate are escaped, and every text comes back`()
        async throws
    {
        let names = [
            "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "a=b", "'=x", "\"", "a\"b,c",
            "line\r\nbreak", ",", " =lead", "é,e\u{301}", "日本語\u{202E}", "=\"\"\r\n,=", "'",
            "x;=1", "x\t-1",
        ]
        // Where a semicolon or a tab parts cells.
        let inside = ["x;=1": "x;'=1", "x\t-1": "x\t'-1"]
        let fixture = try await UserFixture.make()
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            for (index, name) in names.enumerated() {
                let email = "\(index)@acme.example"
                try await change.query(
                    """
                    INSERT INTO users (tenant_id, id, email, email_key, name, role, status,
                        source, created_at, updated_at)
                    VALUES (\(change.tenant), \(UUID.random()), \(email), \(email), \(name),
                        'member', 'active', 'import', \(change.now.adding(seconds: Int64(index))),
                        \(change.now))
                    """)
            }
        }
        let file = try await fixture.send(.get, "?sort=created_at", fields: Self.csv)
        let cells = try CSVFile(file.bytes)["name"]
        let guarded = Set([0, 1, 2, 3, 4, 5, 6, 7, 9, 17])
        let expected = names.indices.map {
            inside[names[$0]] ?? (guarded.contains($0) ? "'" : "") + names[$0]
        }
        #expect(cells.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }

    @Test func `rights and tenants are the list's`() async throws {
        let fixture = try await UserFixture.make()
        let other = try await fixture.service.makeTenant("other")
        let foreign = try await fixture.service.send(
            .get, Self.users, as: .tenantAdmin(other), fields: Self.csv)
        #expect(foreign.status == 404)
        #expect(
            try await fixture.service.send(.get, Self.users, fields: Self.csv).status == 401)
        let rights = try await RightsFixture.make(fixture)
        let keyless = try await rights.key(["audit:read"])
        let refused = try await fixture.service.send(
            .get, Self.users, as: .bearer(keyless), fields: Self.csv)
        #expect(refused.status == 403, "\(refused.text)")
        let member = try #require(rights.people[.member])
        let own = try await rights.key(RightsFixture.every, owner: member)
        let file = try await fixture.service.send(
            .get, Self.users, as: .bearer(own), fields: Self.csv)
        #expect(try CSVFile(file.bytes)["id"] == [member.description])
        let tenants = try await fixture.service.send(
            .get, "/v1/tenants", as: .tenantAdmin(other), fields: Self.csv)
        #expect(try CSVFile(tenants.bytes)["slug"] == ["other"])
    }

    @Test func `every list of the API is a file too`() async throws {
        let fixture = try await UserFixture.make()
        let rights = try await RightsFixture.make(fixture)
        var count = 0
        for endpoint in Routes.all where endpoint.method == .get && endpoint.lists {
            let target = rights.target(endpoint)
            let page = try await fixture.service.send(.get, target.path, as: .platformOwner)
            guard page.status == 200 else { continue }
            count += 1
            let items = page.json["items"]?.array ?? []
            let file = try await fixture.service.send(
                .get, target.path, as: .platformOwner, fields: Self.csv)
            #expect(!file.isCut && file.status == 200, "\(endpoint.id)")
            let table = try CSVFile(file.bytes)
            #expect(table.rows.count == items.count, "\(endpoint.id)")
            #expect(table["id"] == items.compactMap { $0["id"]?.string }, "\(endpoint.id)")
            let lines = try await fixture.service.send(
                .get, target.path, as: .platformOwner, fields: Self.lines)
            #expect(
                lines.bytes.split(separator: 0x0A).count == items.count, "\(endpoint.id)")
        }
        #expect(count >= 14, "\(count)")
    }

    @Test func `nested members have their own columns`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@acme.example")
        _ = try await fixture.send(.patch, "/\(id)", json: #"{"name":"Ada"}"#)
        let file = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?action=user.updated", as: .platformOwner,
            fields: Self.csv)
        let table = try CSVFile(file.bytes)
        #expect(table["target.name"] == ["ada@acme.example"])
        #expect(table["actor.type"] == ["operator"])
        let changes = try JSONValue(parsing: Array((table["changes"].first ?? "").utf8))
        #expect(changes["name"]?.array == [.null, .string("Ada")])
    }

    /// All of the list's items, page by page.
    private func items(_ fixture: UserFixture, _ query: String) async throws -> [JSONValue] {
        var all: [JSONValue] = []
        var cursor = ""
        repeat {
            let page = try await fixture.send(.get, "?limit=200&\(query)\(cursor)").json
            all += page["items"]?.array ?? []
            cursor = page["next_cursor"]?.string.map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
        return all
    }

    private func add(_ numbers: ClosedRange<Int>, to fixture: UserFixture) async throws {
        try await fixture.service.storage.addUsers(numbers, to: fixture.tenant.id)
    }
}

extension Endpoint {
    fileprivate var lists: Bool {
        answers.contains { if case .list = $0.content { true } else { false } }
    }
}
