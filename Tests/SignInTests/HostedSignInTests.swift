import HTTP
import JSON
import SignIn
import Storage
import TestSupport
import Testing
import Text

/// The pages that this server shows people itself.
struct HostedSignInTests {
    private static let email = "ann@example.com"
    private static let callback = "http://gatehouse.test/sign-in/callback"

    /// A browser: it keeps cookies and posts forms as pages have them.
    private struct Scene {
        let service: TestService
        let first: TestProvider
        let second: TestProvider
        let ids: [String]

        init() async throws {
            service = try await TestService.make()
            first = try await TestProvider.start()
            second = try await TestProvider.start()
            _ = try await service.storage.createTenant(
                slug: "acme", name: "Acme & <Sons>", policy: .object([]), by: .system)
            var ids: [String] = []
            for (name, provider) in [("One", first), ("Two", second)] {
                let made = try await service.send(
                    .post, "/v1/providers",
                    json: #"{"kind":"oidc","name":"\#(name)","issuer":"\#(provider.issuer)","#
                        + #""client_id":"web","email_trust":"verified_claim"}"#, as: .platformOwner)
                ids.append(made.json["id"]?.string ?? "")
            }
            self.ids = ids
            // Its pages offer what its clients name.
            try await service.manage(
                .put, "/v1/tenants/acme/clients/immich",
                #"{"enabled":true,"settings":{"provider":"oidc"}}"#)
        }

        func stop() async {
            await first.stop()
            await second.stop()
            await service.stop()
        }

        func invite(_ tenant: String = "acme") async throws -> String {
            let made = try await service.send(
                .post, "/v1/tenants/\(tenant)/invites",
                json: #"{"email":"\#(email)","delivery":"link"}"#, as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
            return made.json["token"]?.string ?? ""
        }

        func get(_ target: String, _ jar: Jar) async throws -> TestAnswer {
            jar.take(try await service.send(.get, target, fields: jar.fields))
        }

        func post(
            _ target: String, _ form: [(String, String)], _ jar: Jar, fields: [Field] = sameOrigin
        ) async throws -> TestAnswer {
            let body = FormText.encode(form)
            return jar.take(
                try await service.send(
                    .post, target, json: body,
                    fields: jar.fields + fields + [
                        Field("content-type", "application/x-www-form-urlencoded")
                    ]))
        }

        /// To that provider and back, as Ann.
        func passThrough(
            _ number: Int, at path: String, _ jar: Jar, email: String = HostedSignInTests.email
        ) async throws -> TestAnswer {
            let begun = try await post(path, [("provider", ids[number])], jar)
            #expect(begun.status == 303, "\(begun.text)")
            let location = begun.first("location") ?? ""
            let provider = number == 0 ? first : second
            #expect(location.hasPrefix(provider.issuer))
            let asked = FormText(String(location.drop { $0 != "?" }.dropFirst()))
            #expect(asked.first("redirect_uri") == HostedSignInTests.callback)
            let token = provider.mint(clientID: "web", now: Timestamp.systemClock()).token([
                "nonce": "\"\(asked.first("nonce") ?? "")\"", "email": "\"\(email)\"",
                "sub": "\"\(email)\"",
            ])
            provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
            return try await get(
                "/sign-in/callback?code=c&state=\(asked.first("state") ?? "")", jar)
        }

        func users(_ tenant: String = "acme") async throws -> [JSONValue] {
            let answer = try await service.send(
                .get, "/v1/tenants/\(tenant)/users", as: .platformOwner)
            return answer.json["items"]?.array ?? []
        }
    }

    private static let sameOrigin = [
        Field("sec-fetch-site", "same-origin"), Field("origin", "http://gatehouse.test"),
    ]

    private final class Jar {
        var cookies: [String: String] = [:]

        var fields: [Field] {
            let text = cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
            return text.isEmpty ? [] : [Field("cookie", text)]
        }

        func take(_ answer: TestAnswer) -> TestAnswer {
            for field in answer.response.fields where field.name == "set-cookie" {
                let pair = field.value.prefix { $0 != ";" }.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                cookies[String(pair[0])] = pair[1].isEmpty ? nil : String(pair[1])
            }
            return answer
        }
    }

    /// The value of a page's hidden field.
    private func hidden(_ name: String, _ page: TestAnswer) -> String {
        let parts = page.text.split(separator: "name=\"\(name)\" value=\"", maxSplits: 1)
        return parts.count == 2 ? String(parts[1].prefix { $0 != "\"" }) : ""
    }

    private func expectPage(
        _ answer: TestAnswer, _ status: Int, _ part: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(answer.text.contains(part), "\(answer.text)", sourceLocation: sourceLocation)
        #expect(
            answer.first("content-type") == "text/html; charset=utf-8",
            sourceLocation: sourceLocation)
        let policy = answer.first("content-security-policy") ?? ""
        #expect(policy.hasPrefix("default-src 'none'; "), sourceLocation: sourceLocation)
        #expect(policy.contains("frame-ancestors 'none'"), sourceLocation: sourceLocation)
        #expect(answer.first("cache-control") == "no-store", sourceLocation: sourceLocation)
        #expect(answer.first("referrer-policy") == "same-origin", sourceLocation: sourceLocation)
        // The one script there is stands under its hash.
        #expect(policy.contains("script-src 'sha256-"), sourceLocation: sourceLocation)
        #expect(!policy.contains("unsafe"), sourceLocation: sourceLocation)
    }

    @Test func `a tenant's page has its name and its providers, and lets an invited person in`()
        async throws
    {
        let scene = try await Scene()
        _ = try await scene.invite()
        let jar = Jar()
        let page = try await scene.get("/t/acme/sign-in", jar)
        expectPage(page, 200, "Acme &amp; &lt;Sons&gt;")
        #expect(page.text.contains("Continue with One") && page.text.contains(scene.ids[1]))
        let done = try await scene.passThrough(0, at: "/t/acme/sign-in", jar)
        expectPage(done, 200, "You are known as \(Self.email).")
        #expect(try await scene.users().first?["status"]?.string == "active")
        // Nothing is begun that would sign anybody in.
        #expect(
            done.response.fields.filter { $0.name == "set-cookie" }.allSatisfy {
                $0.value.contains("=; ")
            })
        expectPage(try await scene.get("/t/nobody/sign-in", jar), 404, "did not work")
        _ = try await scene.service.send(
            .post, "/v1/tenants/acme/suspend", as: .platformOwner)
        expectPage(try await scene.get("/t/acme/sign-in", jar), 403, "suspended")
        await scene.stop()
    }

    @Test
    func `a tenant's pages offer the platform's providers only where one of its clients does`()
        async throws
    {
        let scene = try await Scene()
        let token = try await scene.invite()
        func offered() async throws -> [String?] {
            let page = try await scene.get("/t/acme/sign-in", Jar())
            let preview = try await scene.service.send(
                .post, "/v1/invites/preview", json: #"{"token":"\#(token)"}"#)
            let names = preview.json["providers"]?.array?.map { $0["name"]?.string } ?? []
            #expect(names.contains("One") == page.text.contains("Continue with One"))
            #expect(names.contains("Two") == page.text.contains("Continue with Two"))
            return names
        }
        func name(_ client: String) async throws {
            try await scene.service.manage(
                .put, "/v1/tenants/acme/clients/immich", client)
        }
        #expect(try await offered() == ["One", "Two"])
        try await name(
            #"{"enabled":true,"settings":{"provider":"\#(scene.ids[1])"}}"#)
        #expect(try await offered() == ["Two"])
        try await name(#"{"enabled":false,"settings":{"provider":"oidc"}}"#)
        #expect(try await offered() == [])
        let acme = try await scene.service.storage.tenant("acme")
        try await scene.service.manage(
            .patch, "/v1/providers/\(scene.ids[0])",
            #"{"client_tenants":{"web":"\#(acme?.id.description ?? "")"}}"#)
        #expect(try await offered() == ["One"])
        await scene.stop()
    }

    @Test func `a link grant is taken from the address, and adds one sign-in of any address`()
        async throws
    {
        let scene = try await Scene()
        _ = try await scene.invite()
        _ = try await scene.passThrough(0, at: "/t/acme/sign-in", Jar())
        let user = try #require(try await scene.users().first?["id"]?.string)
        let made = try await scene.service.manage(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", "{}")
        let token = try #require(made["token"]?.string)
        #expect(made["url"]?.string == "http://gatehouse.test/sign-in#grant=\(token)")
        let jar = Jar()
        let page = try await scene.get("/sign-in", jar)
        #expect(page.text.contains("id=\"grant\""))
        expectPage(
            try await scene.post("/sign-in/grant", [("grant", "nonsense")], jar), 404, "used up")
        let taken = try await scene.post("/sign-in/grant", [("grant", token)], jar)
        #expect(taken.status == 303 && taken.first("location") == "/t/acme/sign-in")
        let asked = try await scene.get("/t/acme/sign-in", jar)
        expectPage(asked, 200, "Add a sign-in")
        // Looking uses nothing up.
        let done = try await scene.passThrough(
            1, at: "/t/acme/sign-in", jar, email: "other@example.com")
        expectPage(done, 200, "Two is added")
        #expect(jar.cookies["gatehouse_grant"] == nil)
        let users = try await scene.users()
        #expect(users.count == 1 && users.first?["identities"]?.array?.count == 2)
        _ = try await scene.post("/sign-in/grant", [("grant", token)], jar)
        let again = try await scene.passThrough(
            1, at: "/t/acme/sign-in", jar, email: "third@example.com")
        expectPage(again, 404, "used up")
        #expect(try await scene.users().first?["identities"]?.array?.count == 2)
        await scene.stop()
    }

    @Test func `a stranger, another browser and a replay get nowhere`() async throws {
        let scene = try await Scene()
        _ = try await scene.invite()
        let stranger = try await scene.passThrough(
            0, at: "/t/acme/sign-in", Jar(), email: "eve@other.example")
        expectPage(stranger, 403, "Contact your administrator (ref ")
        let begun = try await scene.post("/t/acme/sign-in", [("provider", scene.ids[0])], Jar())
        let asked = FormText(String((begun.first("location") ?? "").drop { $0 != "?" }.dropFirst()))
        let state = asked.first("state") ?? ""
        let other = Jar()
        for cookie in [nil, state, "\(state).x"] {
            other.cookies["gatehouse_sign_in"] = cookie
            expectPage(
                try await scene.get("/sign-in/callback?code=c&state=\(state)", other), 400,
                "begin again")
        }
        let jar = Jar()
        _ = try await scene.passThrough(0, at: "/t/acme/sign-in", jar)
        expectPage(
            try await scene.get("/sign-in/callback?code=c&state=\(state)", jar), 400,
            "begin again")
        for fields in [
            [Field("sec-fetch-site", "cross-site")], [Field("sec-fetch-site", "same-site")],
        ] {
            expectPage(
                try await scene.post(
                    "/t/acme/sign-in", [("provider", scene.ids[0])], Jar(), fields: fields), 403,
                "another page")
        }
        await scene.stop()
    }

    @Test func `a second sign-in is added once the account was proved and its owner says so`()
        async throws
    {
        let scene = try await Scene()
        _ = try await scene.invite()
        _ = try await scene.passThrough(0, at: "/t/acme/sign-in", Jar())
        let jar = Jar()
        let asked = try await scene.passThrough(1, at: "/t/acme/sign-in", jar)
        expectPage(asked, 200, "Is this your account?")
        #expect(asked.text.contains("Continue with One"))
        #expect(!asked.text.contains("Continue with Two"))
        // Before it was proved nothing can be confirmed, with whatever form.
        let early = try await scene.post("/sign-in/link", [("token", hidden("token", asked))], jar)
        expectPage(early, 400, "begin again")
        // The same sign-in once more is asked once more.
        expectPage(
            try await scene.passThrough(1, at: "/t/acme/sign-in", jar), 200,
            "Is this your account?")
        let confirm = try await scene.passThrough(0, at: "/t/acme/sign-in", jar)
        expectPage(confirm, 200, "Add Two?")
        #expect(try await scene.users().first?["identities"]?.array?.count == 1)
        let token = hidden("token", confirm)
        for (sent, used) in [("x", jar), (token, Jar())] {
            expectPage(
                try await scene.post("/sign-in/link", [("token", sent)], used), 400, "begin again")
        }
        let done = try await scene.post("/sign-in/link", [("token", token)], jar)
        expectPage(done, 200, "Two is added")
        let users = try await scene.users()
        #expect(users.count == 1)
        #expect(users.first?["identities"]?.array?.count == 2)
        // From now on it leads to the same person.
        expectPage(
            try await scene.passThrough(1, at: "/t/acme/sign-in", Jar()), 200, "You are signed up")
        await scene.stop()
    }

    @Test func `an account with a password is proved by it`() async throws {
        let scene = try await Scene()
        let token = try await scene.invite()
        let accepted = try await scene.service.send(
            .post, "/v1/invites/accept",
            json: #"{"token":"\#(token)","password":"correct horse battery","name":"Ann"}"#)
        #expect(accepted.status == 200, "\(accepted.text)")
        let jar = Jar()
        let asked = try await scene.passThrough(0, at: "/t/acme/sign-in", jar)
        expectPage(asked, 200, "Is this your account?")
        let form = hidden("token", asked)
        expectPage(
            try await scene.post(
                "/sign-in/password", [("token", form), ("password", "wrong")], jar), 401,
            "do not fit")
        let confirm = try await scene.post(
            "/sign-in/password", [("token", form), ("password", "correct horse battery")], jar)
        expectPage(confirm, 200, "Add One?")
        expectPage(
            try await scene.post("/sign-in/link", [("token", hidden("token", confirm))], jar),
            200, "One is added")
        #expect(try await scene.users().first?["identities"]?.array?.count == 2)
        await scene.stop()
    }

    @Test func `who is invited by two tenants chooses, and only there becomes active`()
        async throws
    {
        let scene = try await Scene()
        try await scene.service.makeTenant("globex")
        for tenant in ["acme", "globex"] { _ = try await scene.invite(tenant) }
        let jar = Jar()
        expectPage(try await scene.get("/sign-in", jar), 200, "Continue with One")
        let page = try await scene.passThrough(0, at: "/sign-in", jar)
        expectPage(page, 200, "Where do you want to go?")
        #expect(page.text.contains("Acme &amp; &lt;Sons&gt;") && page.text.contains("globex"))
        let globex = try await scene.service.storage.tenant("globex")
        let choice = ("tenant", globex?.id.description ?? "")
        expectPage(
            try await scene.post("/sign-in/tenant", [choice, ("token", "x")], jar), 400,
            "begin again")
        let done = try await scene.post(
            "/sign-in/tenant", [choice, ("token", hidden("token", page))], jar)
        expectPage(done, 200, "You are signed up")
        #expect(try await scene.users("globex").first?["status"]?.string == "active")
        #expect(try await scene.users("acme").first?["status"]?.string == "pending")
        await scene.stop()
    }
}
