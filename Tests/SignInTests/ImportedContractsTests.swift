import API
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Today's people of the five apps, who come by an import, are themselves at the app's own door. The
/// import has them at other addresses than the providers say: nothing but the sign-in tells who they are.
@Suite(.serialized, .cleansUp) struct ImportedContractsTests {
    /// The ids of the imported users: those of the file, since the platform imports them.
    private static func importing(
        _ people: [(name: String, provider: String, issuer: String, subject: String)],
        _ service: TestService
    ) async throws -> [String] {
        let given = people.map { _ in UUID.random().description }
        let rows = zip(given, people).map { id, one in
            #"{"id":"\#(id)","email":"\#(one.name)@old.example","email_verified":true,"identities":["#
                + #"{"provider":"\#(one.provider)","issuer":"\#(one.issuer)","#
                + #""subject":"\#(one.subject)"}]}"#
        }
        let answer = try await service.send(
            .post, "/v1/tenants/acme/imports?format=ndjson",
            bytes: Array(rows.joined(separator: "\n").utf8), as: .platformOwner,
            fields: [Field("content-type", "application/x-ndjson")])
        try #require(answer.status == 202, "\(answer.text)")
        try await JobRunner(application: service.composition.application).round()
        var ids: [String] = []
        for one in people {
            let found = try await service.send(
                .get, "/v1/tenants/acme/users?q=\(one.name)@old.example", as: .platformOwner)
            let user = try #require(found.json["items"]?.array?.first, "\(found.text)")
            #expect(user["status"]?.string == "active" && user["source"]?.string == "import")
            ids.append(try #require(user["id"]?.string))
        }
        #expect(ids == given)
        return ids
    }

    /// The user has the one sign-in that came along, and the tenant so many users. `isWithoutDecision`: the
    /// app's door only asks who it is.
    private static func expectThemselves(
        _ id: String, of users: Int, _ service: TestService, isWithoutDecision: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let all = try await service.send(.get, "/v1/tenants/acme/users", as: .platformOwner)
        #expect(
            all.json["items"]?.array?.count == users, "\(all.text)",
            sourceLocation: sourceLocation)
        let identities = all.json["items"]?.array?.first { $0["id"]?.string == id }?["identities"]
        #expect(identities?.array?.count == 1, "\(all.text)", sourceLocation: sourceLocation)
        if isWithoutDecision { return }
        let decisions = try await service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: .platformOwner)
        let last = decisions.json["items"]?.array?.first
        #expect(
            last?["outcome"]?.string == "existing" && last?["user_id"]?.string == id,
            "\(decisions.text)", sourceLocation: sourceLocation)
    }

    @Test func `an imported Google account is its user at each of the five apps`() async throws {
        let fixture = try await OneIdentityFixture()
        let doors: [EntryPoint] = [.relate, .immich, .timetracker, .thinkwork, .deeprecall]
        let people = doors.map { Somebody(expected: .domainMatched, name: "\($0)".lowercased()) }
        let ids = try await Self.importing(
            people.map { ($0.name, "google", OneIdentityFixture.google, $0.subject) },
            fixture.service)
        for (index, door) in doors.enumerated() {
            let answer = try await fixture.pass(people[index], door)
            #expect((200...201).contains(answer.status), "\(door): \(answer.text)")
            try await Self.expectThemselves(
                ids[index], of: doors.count, fixture.service, isWithoutDecision: door == .thinkwork)
        }
        // The workspace app asks once more who it is.
        let me = try await fixture.service.send(
            .get, "/t/acme/thinkwork/api/auth/me",
            fields: [Field("authorization", fixture.poolToken(people[3]))])
        #expect(me.json["userId"]?.string == ids[3] && me.json["role"]?.string == "member")
    }

    @Test func `an imported GitHub account is its user at the reader app`() async throws {
        let fixture = try await DeepRecallFixture.make()
        let ids = try await Self.importing(
            [("octo", "github", "https://github.com", "4711")], fixture.service)
        let answer = try await fixture.exchange(
            "github", #"{"access_token":"gho_1","device_id":"\#(DeepRecallFixture.device)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["user"]?["id"]?.string == ids[0])
        #expect(answer.json["user"]?["email"]?.string == "octo@old.example")
        try await Self.expectThemselves(ids[0], of: 1, fixture.service)
    }

    /// A GitHub that grants any code to one person.
    private static func addGitHub(to service: TestService) async throws {
        let provider = try await TestProvider.start()
        let endpoints = [
            ("authorization_endpoint", "/gh/authorize"), ("token_endpoint", "/gh/token"),
            ("userinfo_endpoint", "/gh/user"),
            ("token_check_endpoint", "/gh/check"),
        ].map { #""\#($0)":"\#(provider.issuer)\#($1)""# }.joined(separator: ",")
        try await service.manage(
            .post, "/v1/providers",
            #"{"kind":"github","name":"H","client_id":"Ov23li","secret":"s3cret","#
                + #""email_trust":"verified_claim","endpoints":{\#(endpoints)}}"#)
        provider.set("/gh/token", .init(#"{"access_token":"gho_1","token_type":"bearer"}"#))
        provider.set("/gh/check", .init(#"{"app":{"client_id":"Ov23li"},"user":{"id":4711}}"#))
        provider.set("/gh/user", .init(#"{"id":4711,"login":"octo","name":null,"email":null}"#))
        provider.set(
            "/gh/user/emails",
            .init(#"[{"email":"octo@acme.example","primary":true,"verified":true}]"#))
    }

    private static let gitHub = ("octo", "github", "https://github.com", "4711")

    @Test func `an imported GitHub account is its user at the photo app`() async throws {
        let fixture = try await ImmichFixture.make()
        try await Self.addGitHub(to: fixture.service)
        let ids = try await Self.importing([Self.gitHub], fixture.service)
        let proof = ImmichOAuthFixture.challenge
        let begun = try await fixture.send(
            .get,
            "/api/oauth/authorize?code_challenge=\(proof)&code_challenge_method=S256"
                + "&state=state-0001")
        #expect(begun.json["url"]?.string?.contains("/gh/authorize?") == true, "\(begun.text)")
        let answer = try await fixture.send(
            .post, "/api/oauth/callback",
            #"{"url":"\#(ImmichOAuthFixture.redirect)?code=c0de&state=state-0001","#
                + #""codeVerifier":"\#(ImmichOAuthFixture.verifier)"}"#,
            fields: ImmichFixture.device)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.json["userId"]?.string == ids[0])
        try await Self.expectThemselves(ids[0], of: 2, fixture.service)
    }

    @Test func `an imported GitHub account is its user at the time app`() async throws {
        let service = try await TestService.make()
        _ = try await service.makeTenant("acme")
        let redirect = TimeTrackerFixture.redirect
        try await service.manage(
            .put, "/v1/tenants/acme/clients/timetracker",
            #"{"enabled":true,"redirect_uris":["\#(redirect)"]}"#)
        try await Self.addGitHub(to: service)
        let ids = try await Self.importing([Self.gitHub], service)
        let begun = try await service.send(
            .get, "/t/acme/timetracker/auth/login?redirect_uri=\(redirect)")
        #expect(begun.first("location")?.contains("/gh/authorize?") == true, "\(begun.text)")
        let state = TimeTrackerFixture.query(of: begun).first("state") ?? ""
        let answer = try await service.send(
            .post, "/t/acme/timetracker/auth/token",
            json: #"{"redirect_uri":"\#(redirect)","code":"c","state":"\#(state)"}"#)
        #expect(answer.json["user"]?["email"]?.string == "octo@old.example", "\(answer.text)")
        try await Self.expectThemselves(ids[0], of: 1, service)
    }

    @Test func `an imported account of the mail app's provider is its user there`() async throws {
        let fixture = try await RelateFixture.make()
        let ids = try await Self.importing(
            [("ann", "oidc", fixture.provider.issuer, "ann-1")], fixture.service)
        let profile = try await fixture.send(.get, "/api/profile", as: "Bearer opaque")
        #expect(profile.status == 200, "\(profile.text)")
        #expect(profile.text.contains("ann@old.example"), "\(profile.text)")
        // Beside them stands the row of the invite to the address that the provider says.
        try await Self.expectThemselves(ids[0], of: 2, fixture.service)
    }

    @Test func `an imported account of the photo app's provider is its user there`() async throws {
        let fixture = try await ImmichOAuthFixture.make()
        let ids = try await Self.importing(
            [("ben", "oidc", fixture.provider.issuer, "new@acme.example")], fixture.base.service)
        let asked = try await fixture.begin("state-0001")
        fixture.grant(asked.first("nonce") ?? "")
        let answer = try await fixture.end("state-0001")
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.json["userId"]?.string == ids[0])
        #expect(answer.json["userEmail"]?.string == "ben@old.example")
        try await Self.expectThemselves(ids[0], of: 2, fixture.base.service)
    }

    @Test func `an imported account of the time app's provider is its user there`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        let ids = try await Self.importing(
            [("cid", "oidc", fixture.provider.issuer, TimeTrackerFixture.address)],
            fixture.service)
        let answer = try await fixture.signIn()
        #expect(answer.json["user"]?["email"]?.string == "cid@old.example", "\(answer.text)")
        try await Self.expectThemselves(ids[0], of: 1, fixture.service)
    }

    @Test func `an imported account of the workspace app's upstream is its user there`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        let issuer = "https://acme.okta.example"
        try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"cognito","name":"Pool","issuer":"\#(ThinkWorkFixture.pool)","#
                + #""client_id":"web","email_trust":"verified_claim","upstreams":[{"name":"Okta","#
                + #""kind":"oidc","issuer":"\#(issuer)"}],"endpoints":{"#
                + #""issuer":"\#(fixture.provider.issuer)/\#(ThinkWorkFixture.pool)","#
                + #""authorization_endpoint":"\#(fixture.provider.issuer)/a","#
                + #""token_endpoint":"\#(fixture.provider.issuer)/t","#
                + #""jwks_uri":"\#(fixture.provider.issuer)/keys"}}"#)
        let ids = try await Self.importing([("dan", "oidc", issuer, "okta-7")], fixture.service)
        let token = fixture.token(
            "dan@new.example",
            [
                "cognito:username": "\"Okta_okta-7\"",
                "identities":
                    #"[{"providerName":"Okta","providerType":"OIDC","issuer":null,"userId":"okta-7"}]"#,
            ])
        let me = try await fixture.send(.get, "/api/auth/me", token: token)
        #expect(me.status == 200 && me.json["userId"]?.string == ids[0], "\(me.text)")
        #expect(me.json["email"]?.string == "dan@old.example")
        #expect(me.json["role"]?.string == "member", "\(me.text)")
        try await Self.expectThemselves(ids[0], of: 1, fixture.service, isWithoutDecision: true)
    }

    @Test func `a password of a file opens the photo app, the one that asks for passwords`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let answer = try await fixture.service.send(
            .post, "/v1/tenants/acme/imports?format=csv", bytes: try ImportFile.bytes("users.csv"),
            as: .platformOwner, fields: [Field("content-type", "text/csv")])
        try #require(answer.status == 202, "\(answer.text)")
        try await JobRunner(application: fixture.service.composition.application).round()
        let signedIn = try await fixture.send(
            .post, "/api/auth/login",
            #"{"email":"ann@csv.example","password":"\#(ImportFile.password)"}"#,
            fields: ImmichFixture.device)
        #expect(signedIn.status == 201, "\(signedIn.text)")
        #expect(signedIn.json["userEmail"]?.string == "ann@csv.example")
    }
}
