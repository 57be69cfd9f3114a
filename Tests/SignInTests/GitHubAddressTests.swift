import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing
import Text

/// Which of a GitHub account's addresses a person is let in by.
@Suite(.cleansUp) struct GitHubAddressTests {
    private static let octo = (email: "octo@acme.example", isPrimary: true, isVerified: true)

    private func set(
        _ fixture: DeepRecallFixture,
        _ addresses: [(email: String, isPrimary: Bool, isVerified: Bool)]
    ) {
        let list = addresses.map {
            #"{"email":"\#($0.email)","primary":\#($0.isPrimary),"verified":\#($0.isVerified),"#
                + #""visibility":null}"#
        }
        fixture.provider.set("/gh/user/emails", .init("[\(list.joined(separator: ","))]"))
    }

    private func exchange(_ fixture: DeepRecallFixture) async throws -> TestAnswer {
        try await fixture.exchange("github", #"{"access_token":"gho_1","device_id":"d"}"#)
    }

    /// The last decision, with its trace.
    private func decision(_ fixture: DeepRecallFixture) async throws -> TestAnswer {
        let list = try await fixture.service.send(
            .get, "/v1/provisioning/decisions?limit=1", as: .platformOwner)
        let id = list.json["items"]?.array?.first?["id"]?.string ?? ""
        return try await fixture.service.send(
            .get, "/v1/provisioning/decisions/\(id)", as: .platformOwner)
    }

    private func users(_ fixture: DeepRecallFixture) async throws -> [String] {
        let list = try await fixture.service.send(
            .get, "/v1/tenants/acme/users?status=active", as: .platformOwner)
        return (list.json["items"]?.array ?? []).compactMap { $0["email"]?.string }
    }

    @Test func `an invited address of the account lets in, though another is the primary one`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("work@acme.example")
        set(fixture, [Self.octo, ("work@acme.example", false, false)])
        #expect(try await exchange(fixture).status == 403)
        set(
            fixture,
            [Self.octo, ("Work@Acme.example", false, true), ("x@else.example", false, true)])
        // Six at once are one person.
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<6 { group.addTask { try await exchange(fixture).status } }
            var all: [Int] = []
            for try await status in group { all.append(status) }
            return all
        }
        #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
        let users = try await users(fixture)
        #expect(users.count == 1 && users.first?.lowercased() == "work@acme.example", "\(users)")
        // Known, whatever is invited since.
        try await fixture.invite("x@else.example")
        #expect(try await exchange(fixture).status == 200)
        #expect(try await self.users(fixture) == users)
    }

    @Test func `of two invited addresses the primary one counts, else none`() async throws {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("a@acme.example")
        try await fixture.invite("b@acme.example")
        set(fixture, [Self.octo, ("a@acme.example", false, true), ("b@acme.example", false, true)])
        #expect(try await exchange(fixture).status == 403)
        let refused = try await decision(fixture)
        #expect(refused.json["reason"]?.string == "email_unverified", "\(refused.text)")
        #expect(refused.text.contains("two invited addresses"), "\(refused.text)")
        #expect(!refused.text.contains("a@acme.example"), "\(refused.text)")
        try await fixture.invite("octo@acme.example")
        #expect(try await exchange(fixture).status == 200)
        #expect(try await users(fixture) == ["octo@acme.example"])
    }

    @Test func `a suspended or deleted user at any of the addresses refuses`() async throws {
        for (act, reason) in [("suspend", "user_suspended"), ("delete", "user_deleted")] {
            let fixture = try await DeepRecallFixture.make()
            let made = try await fixture.service.manage(
                .post, "/v1/tenants/acme/users", #"{"email":"old@acme.example"}"#)
            let path = "/v1/tenants/acme/users/\(made["id"]?.string ?? "")"
            let done =
                act == "suspend"
                ? try await fixture.service.send(.post, "\(path)/suspend", as: .platformOwner)
                : try await fixture.service.send(.delete, path, as: .platformOwner)
            #expect(done.status < 300, "\(done.text)")
            #expect(try await exchange(fixture).status == 403)
            let refused = try await decision(fixture)
            #expect(refused.json["reason"]?.string == reason, "\(refused.text)")
        }
    }

    @Test func `an address that the account has not verified says nothing of its user`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        let users = "/v1/tenants/acme/users"
        let made = try await fixture.service.manage(
            .post, users, #"{"email":"\#(Self.octo.email)"}"#)
        let id = made["id"]?.string ?? ""
        try await fixture.service.manage(.post, "\(users)/\(id)/suspend", "")
        try await fixture.invite("work@acme.example")
        set(fixture, [(Self.octo.email, true, false), ("work@acme.example", false, true)])
        #expect(try await exchange(fixture).status == 200)
        #expect(try await self.users(fixture) == ["work@acme.example"])
    }

    @Test(arguments: [403, 404, 500])
    func `addresses that GitHub does not tell shut out nobody who is known`(status: Int)
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("octo@acme.example")
        let page = TestProvider.Page(status: status, #"{"message":"no"}"#)
        fixture.provider.set("/gh/user/emails", page)
        #expect(try await exchange(fixture).status == 403)
        let refused = try await decision(fixture)
        #expect(refused.json["reason"]?.string == "email_missing", "\(refused.text)")
        #expect(refused.text.contains("/gh/user/emails"), "\(refused.text)")
        fixture.setGitHub()
        #expect(try await exchange(fixture).status == 200)
        fixture.provider.set("/gh/user/emails", page)
        #expect(try await exchange(fixture).status == 200)
    }

    @Test func `the link of an invite decides between the invited addresses of an account`()
        async throws
    {
        let fixture = try await HostedFixture()
        let issuer = fixture.first.issuer
        let made = try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"github","name":"H","issuer":"\#(issuer)","client_id":"gh","secret":"s"}"#)
        _ = try await fixture.invite()
        let other = try await fixture.service.manage(
            .post, "/v1/tenants/acme/invites",
            #"{"email":"other@acme.example","delivery":"link"}"#)
        let token = other["token"]?.string ?? ""
        fixture.first.set("/login/oauth/access_token", .init(#"{"access_token":"a","error":null}"#))
        fixture.first.set("/api/v3/user", .init(#"{"id":7,"login":"ann"}"#))
        fixture.first.set(
            "/api/v3/user/emails",
            .init(
                #"[{"email":"p@else.example","primary":true,"verified":true},"#
                    + #"{"email":"\#(HostedFixture.email)","primary":false,"verified":true},"#
                    + #"{"email":"other@acme.example","primary":false,"verified":true}]"#))
        let jar = HostedFixture.Jar()
        let begun = jar.take(
            try await fixture.service.send(
                .post, "/v1/invites/sign-in",
                json: #"{"token":"\#(token)","provider":"\#(made["id"]?.string ?? "")"}"#,
                fields: HostedFixture.sameOrigin))
        let url = begun.json["url"]?.string ?? ""
        #expect(url.hasPrefix("\(issuer)/login/oauth/authorize?"), "\(begun.text)")
        let state = FormText(String(url.drop { $0 != "?" }.dropFirst())).first("state") ?? ""
        let done = try await fixture.get("/sign-in/callback?code=c&state=\(state)", jar)
        expectHostedPage(done, 200, "You are known as other@acme.example.")
    }

    @Test func `a GitHub of one's own gets its tokens and its secret itself`() async throws {
        let fixture = try await DeepRecallFixture.make()
        let list = try await fixture.service.send(
            .get, "/v1/providers?kind=github", as: .platformOwner)
        let old = list.json["items"]?.array?.first?["id"]?.string ?? ""
        try await fixture.service.send(.delete, "/v1/providers/\(old)", as: .platformOwner)
        let issuer = fixture.provider.issuer
        try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"github","name":"H","issuer":"\#(issuer)","client_id":"Ov23li","#
                + #""secret":"s3cret","endpoints":{"userinfo_endpoint":"\#(issuer)/api/v3/user"}}"#)
        try await fixture.invite("octo@acme.example")
        let check = "/api/v3/applications/Ov23li/token"
        fixture.provider.set(check, .init(#"{"app":{"client_id":"Ov23li"},"user":{"id":4711}}"#))
        fixture.provider.set("/api/v3/user", .init(#"{"id":4711,"login":"octo"}"#))
        fixture.provider.set(
            "/api/v3/user/emails",
            .init(#"[{"email":"octo@acme.example","primary":true,"verified":true}]"#))
        let answer = try await exchange(fixture)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(fixture.provider.lastCredential(of: check)?.hasPrefix("Basic ") == true)
        #expect(fixture.provider.lastBody(of: check).contains("gho_1"))
    }
}
