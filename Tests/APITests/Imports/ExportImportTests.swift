import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What is exported can be imported.
@Suite(.serialized, .cleansUp) struct ExportImportTests {
    private static let csv = [Field("accept", "text/csv")]
    private static let lines = [Field("accept", "application/x-ndjson")]

    private static func word(_ random: inout SystemRandomNumberGenerator) -> String {
        let pieces = [
            "=", "+", "-", "@", "'", "''", ";", ",", "\"", "a", "Ann", "\u{FF1D}1", "é", "日本",
            "\u{1F600}",
            " ", "{}", "|", "\\", "=HYPERLINK(\"x\")", "0", "1E5",
        ]
        let text = (0..<Int.random(in: 1...6, using: &random)).compactMap { _ in
            pieces.randomElement(using: &random)
        }.joined()
        return DisplayText.stripped(text).isEmpty ? "x" : DisplayText.stripped(text)
    }

    /// People with hostile words in every place that holds some.
    private func add(_ count: Int, to fixture: ImportFixture) async throws {
        var random = SystemRandomNumberGenerator()
        let statuses = ["active", "pending", "suspended"]
        try await fixture.scope.change(by: .system) { change in
            for index in 0..<count {
                let local = ["+", "-", "=", "'", ""].randomElement(using: &random) ?? ""
                let email = "\(local)p\(index)@acme.example"
                let name = Bool.random(using: &random) ? Self.word(&random) : nil
                let external = Bool.random(using: &random) ? "\(Self.word(&random))\(index)" : nil
                let shown = JSONValue.object([
                    .init("a", .string(Self.word(&random))), .init("n", .number("\(index)")),
                    .init("tabs", .string("\t=\r-\n'+")),
                ])
                let status = statuses.randomElement(using: &random) ?? "active"
                let id = UUID.random()
                try await change.query(
                    """
                    INSERT INTO users (tenant_id, id, email, email_key, name, role, status, source,
                        external_id, public_attributes, private_attributes, keep, email_verified_at,
                        created_at, updated_at, status_before)
                    VALUES (\(change.tenant), \(id), \(email), \(email), \(name),
                        \(index % 7 == 0 ? "manager" : "member"), \(status), 'import', \(external),
                        \(String(decoding: shown.encoded(), as: UTF8.self)), '{}', \(index % 3 == 0),
                        \(index % 2 == 0 ? change.now : nil), \(change.now.adding(seconds: Int64(index))),
                        \(change.now), \(status == "suspended" ? "active" : nil))
                    """)
                guard index % 4 == 0 else { continue }
                for provider in index % 8 == 0 ? ["oidc", "password"] : ["oidc"] {
                    try await change.query(
                        """
                        INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject,
                            email, created_at)
                        VALUES (\(change.tenant), \(UUID.random()), \(id), \(provider),
                            'https://idp.example', \(Self.word(&random) + "\(index)"), \(email),
                            \(change.now))
                        """)
                }
            }
        }
    }

    private func export(_ fixture: ImportFixture, _ fields: [Field]) async throws -> String {
        let file = try await fixture.base.send(.get, "?sort=created_at", fields: fields)
        #expect(file.status == 200 && !file.isCut)
        return String(decoding: file.bytes, as: UTF8.self)
    }

    /// Imports, and works until the job has ended.
    private func importing(
        _ text: String, _ query: String, type: String, _ fixture: ImportFixture
    ) async throws -> JobRow {
        let answer = try await fixture.post(query, text, type: type)
        try #require(answer.status == 202, "\(answer.text)")
        let id = try #require(answer.json["id"]?.string.flatMap { UUID($0) })
        while try await fixture.job(id).status.isLive { try await fixture.run() }
        return try await fixture.job(id)
    }

    @Test(arguments: ["csv", "ndjson"])
    func `importing an export gives the same export again`(_ format: String) async throws {
        let fixture = try await ImportFixture.make()
        try await add(2000, to: fixture)
        let fields = format == "csv" ? Self.csv : Self.lines
        let type = format == "csv" ? "text/csv" : "application/x-ndjson"
        let before = try await export(fixture, fields)
        let same = try await importing(
            before, "format=\(format)&on_conflict=update", type: type, fixture)
        #expect(same.status == .done && same.done == 2000 && same.failed == 0)
        #expect(try await fixture.rows(same.id, "unchanged") == 2000)
        #expect(try await export(fixture, fields) == before)
        let notes = same.parameters["notes"]?.array?.first?.string ?? ""
        #expect(
            notes.hasPrefix(
                "These read-only members are not imported: tenant_id, email_verified_at,"))
        // What was changed since is as the file has it, in the same rows.
        _ = try await fixture.scope.write(
            """
            UPDATE users SET keep = NOT keep, role = 'admin', name = name || 'x',
                external_id = external_id || 'x', public_attributes = '{"a":1}'
            WHERE tenant_id = \(fixture.tenant)
            """)
        let restored = try await importing(
            before, "format=\(format)&on_conflict=update", type: type, fixture)
        #expect(restored.failed == 0)
        // The only cell or member that an import itself moves.
        func without(_ text: String) throws -> [[String]] {
            guard format == "csv" else {
                return try text.split(separator: "\n").map { line in
                    let members = try JSONValue(parsing: Array(line.utf8)).members ?? []
                    return members.filter { $0.name != "updated_at" }.map {
                        $0.name + String(decoding: $0.value.encoded(), as: UTF8.self)
                    }
                }
            }
            let file = try CSVFile(Array(text.utf8))
            let at = try #require(file.header.firstIndex(of: "updated_at"))
            return file.rows.map { row in
                row.indices.filter { $0 != at }.map { row[$0] }
            }
        }
        let after = try await export(fixture, fields)
        #expect(try without(after) == without(before))
        #expect(try await fixture.base.count("users") == 2000)
    }

    @Test func `a row is the user with its id, whatever the addresses are`() async throws {
        let fixture = try await ImportFixture.make()
        let ann = try await fixture.base.make("ann@acme.example", name: "Ann")
        let bea = try await fixture.base.make("bea@acme.example", name: "Bea")
        let gone = try await fixture.base.make("gone@acme.example")
        #expect(try await fixture.base.send(.delete, "/\(gone)").status == 204)
        func outcome(_ row: String, _ conflict: String = "update") async throws -> String {
            let id = try await fixture.importing(row, "format=ndjson&on_conflict=\(conflict)")
            return try await fixture.report(id).joined()
        }
        let old = #"{"id":"\#(ann)","email":"ann@old.example","name":"Anna","email_verified":true}"#
        #expect(try await outcome(old, "skip") == "1 unchanged email_taken")
        #expect(try await outcome(old) == "1 done")
        let user = try await fixture.user("ann@acme.example")
        #expect(user["name"] == .string("Anna") && user["email_verified_at"] == .null)
        #expect(try await fixture.base.count("users") == 3)
        #expect(
            try await outcome(#"{"id":"\#(ann)","email":"bea@acme.example"}"#)
                == "1 failed conflict")
        #expect(
            try await outcome(#"{"id":"\#(gone)","email":"new@acme.example"}"#)
                == "1 failed user_deleted")
        #expect(
            try await outcome(#"{"id":"\#(gone)","email":"gone@acme.example","status":"deleted"}"#)
                == "1 unchanged")
        #expect(
            try await outcome(
                #"{"id":"\#(UUID.random())","email":"no@acme.example","status":"deleted"}"#)
                == "1 failed user_deleted")
        #expect(try await fixture.user("bea@acme.example")["id"] == .string(bea))
    }

    @Test func `a foreign id is kept as the external id where there is none`() async throws {
        let fixture = try await ImportFixture.make()
        let (foreign, other) = (UUID.random().description, UUID.random().description)
        let rows = """
            {"id":"\(foreign)","email":"ann@acme.example"}
            {"id":"\(other)","email":"bea@acme.example","external_id":"b"}
            {"id":17,"email":"cid@acme.example"}
            """
        for _ in 0..<2 {
            let id = try await fixture.importing(rows, "format=ndjson&on_conflict=update")
            #expect(try await fixture.job(id).failed == 0)
            let details = try await fixture.scope.results(of: id, after: 0, limit: 10).map(\.detail)
            #expect(
                details.allSatisfy { $0?.hasPrefix("The user has an id of this tenant;") == true })
        }
        for (email, external) in [
            ("ann@acme.example", foreign), ("bea@acme.example", "b"), ("cid@acme.example", "17"),
        ] {
            let user = try await fixture.user(email)
            #expect(user["external_id"] == .string(external) && user["id"] != .string(foreign))
        }
        let twice = try await fixture.importing(
            """
            {"id":"\(foreign)","email":"dan@acme.example"}
            {"id":"\(foreign)","email":"eve@acme.example","external_id":"e"}
            """)
        #expect(
            try await fixture.report(twice) == ["1 failed conflict", "2 failed conflict"])
    }

    @Test func `every id that people see is of version 4`() async throws {
        let fixture = try await ImportFixture.make()
        let made = try await fixture.base.make("op@acme.example")
        try await fixture.importing(
            """
            {"email":"ann@acme.example","identities":[\
            {"provider":"oidc","issuer":"https://idp.example","subject":"ann"}]}
            """)
        let ann = try #require(try await fixture.user("ann@acme.example")["id"]?.string)
        let merged = try await fixture.base.send(
            .post, "/merges", json: #"{"winner":"\#(made)","loser":"\#(ann)"}"#)
        #expect(merged.status < 300, "\(merged.text)")
        let tables = try await fixture.scope.read(
            """
            SELECT c.table_name FROM information_schema.columns c
            JOIN information_schema.tables t USING (table_schema, table_name)
            WHERE c.table_schema = 'public' AND c.column_name = 'id' AND c.data_type = 'uuid'
                AND t.table_type = 'BASE TABLE' ORDER BY 1
            """)
        let ordered = ["audit_events", "decisions", "decision_retries"]
        var looked = 0
        for row in tables {
            let table: String = try row.get(0)
            if ordered.contains(where: { table.hasPrefix($0) }) { continue }
            looked += 1
            let others = try await fixture.scope.read(
                "/* test */ SELECT id::text FROM \(raw: table) WHERE substring(id::text FROM 15 FOR 1) <> '4'"
            )
            let found = try others.map { row in try row.get(0, as: String.self) }
            #expect(found.allSatisfy { $0.hasPrefix("00000000-") }, "\(table) \(found)")
        }
        #expect(looked > 15)
    }
}
