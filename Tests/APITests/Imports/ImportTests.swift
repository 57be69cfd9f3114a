import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing
import Text

/// Users from another system, as a job.
@Suite(.serialized, .cleansUp) struct ImportTests {
    private static let people = """
        {"email":"Ann@Imported.example","email_verified":true,"name":"Ann","external_id":"7",\
        "public_attributes":{"plan":"team"},"created_at":"2021-02-03T04:05:06Z",\
        "identities":[{"provider":"oidc","issuer":"https://idp.example","subject":"ann"}]}
        {"email":"bea@imported.example","role":"manager"}
        {"email":"cid@imported.example","status":"suspended"}
        {"email":"ann@imported.example"}
        {"name":"nobody"}
        """

    @Test func `new users are created, each row once, and a bad row is reported`() async throws {
        let fixture = try await ImportFixture.make()
        let id = try await fixture.importing(Self.people)
        #expect(
            try await fixture.report(id) == [
                "1 done", "2 done", "3 done", "4 failed conflict", "5 failed email_missing",
            ])
        let job = try await fixture.job(id)
        #expect(job.status == .done && job.done == 3 && job.failed == 2 && job.total == 5)
        let ann = try await fixture.user("ann@imported.example")
        #expect(ann["source"] == .string("import") && ann["status"] == .string("active"))
        #expect(ann["email"] == .string("Ann@Imported.example"))
        #expect(ann["created_at"] == .string("2021-02-03T04:05:06.000Z"))
        #expect(ann["email_verified_at"]?.string != nil)
        #expect(ann["public_attributes"]?["plan"] == .string("team"))
        let identity = try #require(ann["identities"]?.array?.first)
        #expect(identity["email_vouched"] == .bool(false))
        #expect(identity["linked_by"]?["type"] == .string("operator"))
        let bea = try await fixture.user("bea@imported.example")
        #expect(bea["status"] == .string("pending") && bea["role"] == .string("manager"))
        #expect(try await fixture.user("cid@imported.example")["status"] == .string("suspended"))
        // Nothing of the upload is left.
        #expect(try await fixture.base.count("imports") == 0)
        #expect(try await fixture.base.count("import_rows") == 0)
        let audited = try await fixture.base.count(
            "audit_events WHERE action = 'user.created' AND actor_type = 'operator'")
        #expect(audited == 3)
    }

    @Test(arguments: ["revoked", "suspended"])
    func `a caller who loses the right during the upload imports nothing`(_ loss: String)
        async throws
    {
        let fixture = try await ImportFixture.make()
        let key = try await fixture.service.makeKey(#""users:write""#)
        let next = Mutex(0)
        var request = Request(
            .post, "/v1/tenants/acme/imports", query: "format=ndjson",
            fields: [
                Field("authorization", "Bearer \(key.secret)"),
                Field("content-type", "application/x-ndjson"),
            ], body: [], remoteAddress: "127.0.0.1", isTLS: false)
        request.stream = BodyStream {
            let number = next.withLock { number in
                defer { number += 1 }
                return number
            }
            if number == 1 {
                try await fixture.service.manage(
                    .post,
                    loss == "revoked"
                        ? "/v1/tenants/acme/api-keys/\(key.id)/revoke" : "/v1/tenants/acme/suspend",
                    "{}")
            }
            return number < 2 ? Array((Self.people + "\n").utf8) : nil
        }
        let response = await fixture.service.composition.respond(to: request)
        #expect(response.status == (loss == "revoked" ? 401 : 403))
        for table in ["jobs", "imports", "import_rows"] as [SQL] {
            #expect(try await fixture.base.count(table) == 0, "\(table)")
        }
    }

    @Test(arguments: ["skip", "update", "fail"])
    func `a second import of the same file changes nothing`(_ conflict: String) async throws {
        let fixture = try await ImportFixture.make()
        let query = "format=ndjson&on_conflict=\(conflict)"
        try await fixture.importing(Self.people, query)
        let before = try await fixture.content()
        let id = try await fixture.importing(Self.people, query)
        #expect(try await fixture.content() == before)
        #expect(try await fixture.rows(id, "done") == 0)
        let first = conflict == "fail" ? "1 failed email_taken" : "1 unchanged"
        #expect(try await fixture.report(id).first?.hasPrefix(first) == true)
        #expect(try await fixture.job(id).undoUntil == nil)
    }

    @Test func `a dry run says what the import then does, and writes nothing`() async throws {
        let fixture = try await ImportFixture.make()
        _ = try await fixture.base.make("bea@imported.example")
        let before = try await fixture.content()
        let dry = try await fixture.importing(
            Self.people, "format=ndjson&on_conflict=update&dry_run=true")
        #expect(try await fixture.content() == before)
        #expect(try await fixture.job(dry).isDryRun)
        let id = try await fixture.importing(Self.people, "format=ndjson&on_conflict=update")
        #expect(try await fixture.report(dry) == (try await fixture.report(id)))
    }

    @Test func `an undo restores what was, and keeps who has changed since`() async throws {
        let fixture = try await ImportFixture.make()
        let bea = try await fixture.base.make("bea@imported.example", name: "Before")
        let before = try await fixture.content()
        let text = Self.people.replacing(
            #""role":"manager""#,
            with: #""name":"After","external_id":"b","email_verified":true,"#
                + #""password_hash":"\#(Self.hash)","private_attributes":{"x":1},"#
                + #""identities":[{"provider":"oidc","issuer":"https://idp.example","subject":"b"}]"#
        )
        let id = try await fixture.importing(text, "format=ndjson&on_conflict=update")
        #expect(try await fixture.user("bea@imported.example")["name"] == .string("After"))
        let first = try await fixture.undo(id)
        #expect(first.status == .undone && first.undone == 3 && first.kept == 0)
        #expect(try await fixture.content() == before)
        let again = try await fixture.importing(text, "format=ndjson&on_conflict=update")
        let answer = try await fixture.base.send(.patch, "/\(bea)", json: #"{"name":"Later"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        let second = try await fixture.undo(again)
        #expect(second.undone == 2 && second.kept == 1)
        #expect(try await fixture.user("bea@imported.example")["name"] == .string("Later"))
        #expect(try await fixture.report(again).contains("2 kept undo_conflict"))
    }

    private static let hash = "$2b$04$abcdefghijklmnopqrstuuPp7HPfoAs8I2dCQCQ/fW7zEJv8I8C8e"

    @Test func `a value that another user has is a conflict of only that row`() async throws {
        let fixture = try await ImportFixture.make()
        try await fixture.importing(Self.people)
        let id = try await fixture.importing(
            """
            {"email":"x@imported.example","external_id":"7"}
            {"email":"y@imported.example","identities":[{"provider":"oidc","issuer":"https://idp.example","subject":"ann"}]}
            {"email":"bea@imported.example","identities":[{"provider":"oidc","issuer":"https://idp.example","subject":"ann"}]}
            {"email":"z@imported.example"}
            """, "format=ndjson&on_conflict=update")
        #expect(
            try await fixture.report(id) == [
                "1 failed conflict", "2 failed identity_conflict", "3 failed conflict",
                "4 done",
            ])
    }

    @Test func `attributes are held to the tenant's schema`() async throws {
        let fixture = try await ImportFixture.make()
        let answer = try await fixture.service.send(
            .put, "/v1/tenants/acme/attribute-schema",
            json: #"{"attributes":{"plan":{"type":"string","enum":["team"],"indexed":true}}}"#,
            as: .platformOwner, fields: [Field("if-match", "*")])
        try #require(answer.status == 200, "\(answer.text)")
        let id = try await fixture.importing(
            """
            {"email":"a@imported.example","public_attributes":{"plan":"team"}}
            {"email":"b@imported.example","public_attributes":{"plan":"other"}}
            """)
        #expect(try await fixture.report(id) == ["1 done", "2 failed validation_failed"])
        let found = try await fixture.base.emails("attributes.plan=team")
        #expect(found == ["a@imported.example"])
    }

    @Test(arguments: [
        ("format=csv", "text/csv", "email\n\"open"), ("format=auth0", "application/json", "[{}"),
        ("format=keycloak", "application/json", "[]"),
        ("format=cognito", "application/json", "{\"Users\":[]}"),
        ("format=csv", "multipart/form-data; boundary=x", "--x\r\nbroken"),
        ("format=csv", "multipart/form-data", "x"),
    ])
    func `an unreadable file leaves nothing behind`(
        _ query: String, _ type: String, _ text: String
    ) async throws {
        let fixture = try await ImportFixture.make()
        let answer = try await fixture.post(query, text, type: type)
        #expect([400, 422].contains(answer.status), "\(answer.text)")
        #expect(try await fixture.base.count("imports") == 0)
        #expect(try await fixture.base.count("jobs") == 0)
    }

    @Test func `a form brings options and file`() async throws {
        let fixture = try await ImportFixture.make()
        func form(_ options: String, _ file: String) -> String {
            """
            --x
            Content-Disposition: form-data; name="options"

            \(options)
            --x
            Content-Disposition: form-data; name="file"; filename="people.csv"
            Content-Type: text/csv

            \(file)
            --x--

            """.replacing("\n", with: "\r\n")
        }
        let type = "multipart/form-data; boundary=x"
        let id = try await fixture.importing(
            form(#"{"mapping":{"email":"E-Mail"}}"#, "E-Mail,Shoe\na@imported.example,44"),
            "format=csv", type: type)
        #expect(try await fixture.report(id) == ["1 done"])
        for options in ["[]", #"{"maping":{}}"#, #"{"mapping":{"shoe":"x"}}"#, "{"] {
            let answer = try await fixture.post(
                "format=csv", form(options, "E-Mail\n"), type: type)
            #expect([400, 422].contains(answer.status), "\(options): \(answer.text)")
        }
        let long = String(repeating: " ", count: ImportLimits.options - 2)
        for (options, status) in [("{\(long)}", 202), ("{ \(long)}", 413)] {
            let answer = try await fixture.post("format=csv", form(options, "email\n"), type: type)
            #expect(answer.status == status, "\(answer.text)")
        }
    }

    @Test func `the same key and file give the same job, another file none`() async throws {
        let fixture = try await ImportFixture.make()
        let key = [Field("idempotency-key", "once")]
        let first = try await fixture.post("format=ndjson", Self.people, fields: key)
        let second = try await fixture.post("format=ndjson", Self.people, fields: key)
        #expect(first.status == 202 && second.status == 202)
        #expect(first.json["id"] == second.json["id"])
        let third = try await fixture.post("format=ndjson", Self.people + "\n{}", fields: key)
        #expect(third.status == 422 && third.json["code"] == .string("idempotency_mismatch"))
        // The uploads of the second and the third are gone.
        #expect(try await fixture.base.count("imports") == 1)
    }
}

extension ImportFixture {
    func rows(_ id: UUID, _ status: String) async throws -> Int {
        try await base.count("job_rows WHERE job_id = \(id) AND status = \(status)")
    }
}
