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

/// People who come from another system sign in as before.
@Suite(.serialized, .cleansUp) struct ImportedSignInTests {
    private static let files: [(file: String, format: String, type: String)] = [
        ("users.csv", "csv", "text/csv"), ("users.ndjson", "ndjson", "application/x-ndjson"),
        ("auth0.ndjson", "auth0", "application/x-ndjson"),
        ("supabase.json", "supabase", "application/json"), ("clerk.csv", "clerk", "text/csv"),
        ("keycloak.json", "keycloak", "application/json"),
        ("firebase.json", "firebase", "application/json"),
    ]

    private static let hash = "$2b$04$abcdefghijklmnopqrstuuqREtd3VJD2QVZbuFskFSLk6eRIrQoOS"

    /// The file's bytes as text of one byte each would change them: a form carries them.
    private func importing(
        _ file: String, _ format: String, _ type: String, into fixture: ImmichFixture
    ) async throws {
        let head = """
            --x
            Content-Disposition: form-data; name="options"

            \(format == "firebase" ? ImportFile.options : "{}")
            --x
            Content-Disposition: form-data; name="file"
            Content-Type: \(type)


            """.replacing("\n", with: "\r\n")
        let body = Array(head.utf8) + (try ImportFile.bytes(file)) + Array("\r\n--x--".utf8)
        let answer = try await fixture.service.send(
            .post, "/v1/tenants/acme/imports?format=\(format)", bytes: body,
            as: .platformOwner, fields: [Field("content-type", "multipart/form-data; boundary=x")])
        try #require(answer.status == 202, "\(answer.text)")
        try await JobRunner(application: fixture.service.composition.application).round()
    }

    private func signIn(
        _ email: String, _ password: String, _ fixture: ImmichFixture
    ) async throws -> Int {
        try await fixture.send(
            .post, "/api/auth/login", #"{"email":"\#(email)","password":"\#(password)"}"#,
            fields: ImmichFixture.device
        ).status
    }

    private func hash(of email: String, _ fixture: ImmichFixture) async throws -> String? {
        let rows = try await fixture.service.storage.scope(fixture.tenant.id).read(
            """
            /* test */ SELECT password_hash FROM users
            WHERE tenant_id = \(fixture.tenant.id) AND email_key = \(email)
            """)
        return try #require(rows.first).get(0)
    }

    @Test(arguments: files.indices)
    func `the old password opens the account, and is hashed anew`(_ index: Int) async throws {
        let (file, format, type) = Self.files[index]
        let fixture = try await ImmichFixture.make()
        try await importing(file, format, type, into: fixture)
        let ann = "ann@\(format).example"
        let before = try #require(await hash(of: ann, fixture))
        #expect(try await signIn(ann, "wrong horse battery", fixture) == 401)
        #expect(try await hash(of: ann, fixture) == before)
        #expect(try await signIn(ann, ImportFile.password, fixture) == 201)
        let after = try #require(await hash(of: ann, fixture))
        #expect(after != before && after.hasPrefix("$argon2id$"))
        #expect(try await signIn(ann, ImportFile.password, fixture) == 201)
    }

    @Test(arguments: [
        ("auth0", "cid"), ("auth0", "dan"), ("clerk", "cid"), ("keycloak", "bea"),
    ])
    func `other kinds of hashes open theirs`(_ format: String, _ name: String) async throws {
        let (file, _, type) = try #require(Self.files.first { $0.format == format })
        let fixture = try await ImmichFixture.make()
        try await importing(file, format, type, into: fixture)
        #expect(try await signIn("\(name)@\(format).example", ImportFile.password, fixture) == 201)
    }

    @Test func `who comes without a password gets one by an operator's link`() async throws {
        let fixture = try await ImmichFixture.make()
        try await importing("auth0.ndjson", "auth0", "application/x-ndjson", into: fixture)
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users?q=bea@auth0.example", as: .platformOwner)
        let id = try #require(users.json["items"]?.array?.first?["id"]?.string)
        let link = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(id)/password-link", as: .platformOwner)
        let url = try #require(link.json["url"]?.string, "\(link.text)")
        let token = url.split(separator: "=").last.map(String.init) ?? ""
        let set = try await fixture.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(token)","password":"a new long passphrase"}"#)
        #expect(set.status == 204, "\(set.text)")
        #expect(try await signIn("bea@auth0.example", "a new long passphrase", fixture) == 201)
    }

    /// The token of the mailed link; nil if no mail came.
    private func resetToken(
        _ email: String, _ fixture: ImmichFixture, _ sink: SMTPSink
    ) async throws -> String? {
        let before = sink.mails.count
        let asked = try await fixture.service.send(
            .post, "/v1/password-resets", json: #"{"email":"\#(email)","tenant":"acme"}"#)
        #expect(asked.status == 202)
        try await fixture.service.composition.resetAnswers.round()
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
        guard sink.mails.count > before, let text = sink.mails.last?.parts.first else { return nil }
        return text.split(separator: "#token=").last.map { String($0.prefix { !$0.isWhitespace }) }
    }

    @Test(arguments: [
        // With a sign-in at the pool; and without any, who waits as pending.
        ("cognito.json", "cognito", "application/json", "ann@cognito.example", "active"),
        ("auth0.ndjson", "auth0", "application/x-ndjson", "md5@auth0.example", "pending"),
    ])
    func `a password that did not come along is set by a mailed reset`(
        _ file: String, _ format: String, _ type: String, _ email: String, _ status: String
    ) async throws {
        let sink = SMTPSink()
        let fixture = try await ImmichFixture.make(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        try await addProviders(to: fixture)
        try await importing(file, format, type, into: fixture)
        func user() async throws -> JSONValue {
            let found = try await fixture.service.send(
                .get, "/v1/tenants/acme/users?q=\(email)", as: .platformOwner)
            return try #require(found.json["items"]?.array?.first)
        }
        #expect(try await user()["status"]?.string == status)
        let token = try #require(try await resetToken(email, fixture, sink))
        let body = #"{"token":"\#(token)","password":"a new long passphrase"}"#
        let set = try await fixture.service.send(.post, "/v1/password-resets/confirm", json: body)
        #expect(set.status == 204, "\(set.text)")
        #expect(try await signIn(email, "a new long passphrase", fixture) == 201)
        let after = try await user()
        #expect(after["status"]?.string == "active")
        #expect(after["email_verified_at"]?.string != nil)
        let again = try await fixture.service.send(
            .post, "/v1/password-resets/confirm", json: body)
        #expect(again.status == 404)
    }

    @Test func `the undo of an import that brought the password lets the reset set one again`()
        async throws
    {
        let sink = SMTPSink()
        let fixture = try await ImmichFixture.make(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        try await importing("auth0.ndjson", "auth0", "application/x-ndjson", into: fixture)
        let email = "md5@auth0.example"
        let runner = JobRunner(application: fixture.service.composition.application)
        let brought = try await fixture.service.send(
            .post, "/v1/tenants/acme/imports?format=ndjson&on_conflict=update",
            bytes: Array(
                #"{"email":"\#(email)","email_verified":true,"password_hash":"\#(Self.hash)"}"#
                    .utf8),
            as: .platformOwner, fields: [Field("content-type", "application/x-ndjson")])
        let job = try #require(brought.json["id"]?.string, "\(brought.text)")
        try await runner.round()
        #expect(try await hash(of: email, fixture) == Self.hash)
        try await fixture.service.manage(.post, "/v1/tenants/acme/jobs/\(job)/undo", "{}")
        try await runner.round()
        #expect(try await hash(of: email, fixture) == nil)
        #expect(try await resetToken(email, fixture, sink) != nil)
    }

    @Test func `a reset by mail gives no access to a user who had no password`() async throws {
        let sink = SMTPSink()
        let fixture = try await ImmichFixture.make(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        try await addProviders(to: fixture)
        try await importing("cognito.json", "cognito", "application/json", into: fixture)
        for name in ["bea", "cid"] {
            #expect(try await resetToken("\(name)@cognito.example", fixture, sink) == nil)
        }
    }

    private func addProviders(to fixture: ImmichFixture) async throws {
        for provider in [
            #"{"kind":"cognito","name":"pool","issuer":"eu-1_pool"}"#,
            #"{"kind":"google","name":"Google","client_id":"client"}"#,
        ] { try await fixture.service.manage(.post, "/v1/providers", provider) }
    }

    @Test func `people of a pool are the same users through it`() async throws {
        let fixture = try await ImmichFixture.make()
        try await addProviders(to: fixture)
        try await importing("cognito.json", "cognito", "application/json", into: fixture)
        for (name, attempt) in [
            ("ann", #""provider":"cognito","issuer":"eu-1_pool","subject":"ann""#),
            ("cid", #""provider":"cognito","issuer":"eu-1_pool/azuread","subject":"cid""#),
            ("bea", #""provider":"google","subject":"510""#),
        ] {
            let answer = try await fixture.service.send(
                .post, "/v1/provisioning/evaluate", json: "{\(attempt),\"tenant\":\"acme\"}",
                as: .platformOwner)
            #expect(answer.json["outcome"] == .string("existing"), "\(answer.text)")
            #expect(answer.json["user"]?["email"] == .string("\(name)@cognito.example"))
        }
    }
}
