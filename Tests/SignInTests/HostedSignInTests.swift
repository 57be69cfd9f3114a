import Cryptography
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@testable import Gatehouse

/// The pages that this server shows people itself.
@Suite(.cleansUp) struct HostedSignInTests {
    private typealias Fixture = HostedFixture
    private typealias Jar = HostedFixture.Jar
    private static let email = HostedFixture.email

    @Test func `a tenant's page has its name and its providers, and lets an invited person in`()
        async throws
    {
        let fixture = try await Fixture()
        _ = try await fixture.invite()
        let jar = Jar()
        let page = try await fixture.get("/t/acme/sign-in", jar)
        expectHostedPage(page, 200, "Acme &amp; &lt;Sons&gt;")
        #expect(page.text.contains("Continue with One") && page.text.contains(fixture.ids[1]))
        let done = try await fixture.passThrough(0, at: "/t/acme/sign-in", jar)
        expectHostedPage(done, 200, "You are known as \(Self.email).")
        #expect(try await fixture.users().first?["status"]?.string == "active")
        // Nothing is begun that would sign anybody in.
        #expect(
            done.response.fields.filter { $0.name == "set-cookie" }.allSatisfy {
                $0.value.contains("=; ")
            })
        expectHostedPage(try await fixture.get("/t/nobody/sign-in", jar), 404, "did not work")
        _ = try await fixture.service.send(
            .post, "/v1/tenants/acme/suspend", as: .platformOwner)
        expectHostedPage(try await fixture.get("/t/acme/sign-in", jar), 403, "suspended")
    }

    @Test(arguments: [
        ("de", "de"), ("de-AT, en;q=0.5", "de"), ("en, de;q=0.9", "en"), ("fr, de;q=0.4", "de"),
        ("de;q=0, en;q=0.1", "en"), ("fr", "en"), ("", "en"), ("de;q=x,;;=,", "de"),
    ])
    func `a page speaks the browser's first language that it has`(
        _ accepted: String, _ language: String
    ) async throws {
        let fixture = try await Fixture()
        let page = try await fixture.service.send(
            .get, "/t/acme/sign-in", fields: [Field("accept-language", accepted)])
        #expect(page.text.contains("<html lang=\"\(language)\">"), "\(page.text)")
        #expect(page.text.contains(language == "de" ? "Weiter mit One" : "Continue with One"))
        let refused = try await fixture.service.send(
            .get, "/t/nobody/sign-in", fields: [Field("accept-language", accepted)])
        #expect(
            refused.text.contains(language == "de" ? "Das gibt es hier nicht." : "did not work"))
    }

    @Test func `a German sentence has as many values as the English`() {
        for (english, german) in HostedGerman.sentences {
            #expect(
                english.split(separator: "{}", omittingEmptySubsequences: false).count
                    == german.split(separator: "{}", omittingEmptySubsequences: false).count)
        }
    }

    @Test func `a page wears the tenant's name, colour and logo, and names the host and the slug`()
        async throws
    {
        let fixture = try await Fixture()
        try await fixture.service.manage(
            .patch, "/v1/tenants/acme",
            ##"{"appearance":{"name":"<Bank> of Rome","accent":"#ffd400"}}"##)
        let logo = try await fixture.service.send(
            .put, "/v1/tenants/acme/logo",
            bytes: Array("<svg viewBox='0 0 1 1'><path d='M0 0'/></svg>".utf8),
            as: .platformOwner, fields: [Field("content-type", "image/svg+xml")])
        let path = try #require(logo.json["appearance"]?["logo_url"]?.string, "\(logo.text)")
        let page = try await fixture.get("/t/acme/sign-in", Jar())
        expectHostedPage(page, 200, "&lt;Bank&gt; of Rome")
        #expect(page.text.contains("<img class=\"logo\" src=\"\(path)\" alt=\"\">"))
        #expect(page.text.contains("<footer>acme · "))
        let colours = ":root{--fill:#ffd400;--on:#000000}"
        #expect(page.text.contains("<style>\(colours)</style>"))
        let digest = Base64.encode(SHA256.hash(Array(colours.utf8)))
        let policy = try #require(page.first("content-security-policy"))
        #expect(policy.contains(" 'sha256-\(digest)'; script-src "), "\(policy)")
    }

    @Test
    func `a tenant's pages offer the platform's providers only where one of its clients does`()
        async throws
    {
        let fixture = try await Fixture()
        let token = try await fixture.invite()
        func offered() async throws -> [String?] {
            let page = try await fixture.get("/t/acme/sign-in", Jar())
            let preview = try await fixture.service.send(
                .post, "/v1/invites/preview", json: #"{"token":"\#(token)"}"#)
            let names = preview.json["providers"]?.array?.map { $0["name"]?.string } ?? []
            #expect(names.contains("One") == page.text.contains("Continue with One"))
            #expect(names.contains("Two") == page.text.contains("Continue with Two"))
            return names
        }
        func name(_ client: String) async throws {
            try await fixture.service.manage(
                .put, "/v1/tenants/acme/clients/immich", client)
        }
        #expect(try await offered() == ["One", "Two"])
        try await name(
            #"{"enabled":true,"settings":{"provider":"\#(fixture.ids[1])"}}"#)
        #expect(try await offered() == ["Two"])
        try await name(#"{"enabled":false,"settings":{"provider":"oidc"}}"#)
        #expect(try await offered() == [])
        let acme = try await fixture.service.storage.tenant("acme")
        try await fixture.service.manage(
            .patch, "/v1/providers/\(fixture.ids[0])",
            #"{"client_tenants":{"web":"\#(acme?.id.description ?? "")"}}"#)
        #expect(try await offered() == ["One"])
    }

    /// Ann's account by the first provider, and a grant for it.
    private func grant(_ fixture: Fixture) async throws -> (token: String, url: String) {
        if try await fixture.users().isEmpty {
            _ = try await fixture.invite()
            _ = try await fixture.passThrough(0, at: "/t/acme/sign-in", Jar())
        }
        let user = try #require(try await fixture.users().first?["id"]?.string)
        let made = try await fixture.service.manage(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", "{}")
        return (try #require(made["token"]?.string), made["url"]?.string ?? "")
    }

    @Test func `a link grant is taken from the address, and adds one sign-in of any address`()
        async throws
    {
        let fixture = try await Fixture()
        let (token, url) = try await grant(fixture)
        #expect(url == "http://gatehouse.test/sign-in#grant=\(token)")
        let jar = Jar()
        let page = try await fixture.get("/sign-in", jar)
        // The person presses the button: no script sends the form.
        #expect(page.text.contains("id=\"grant\"") && !page.text.contains("submit()"))
        expectHostedPage(
            try await fixture.post("/sign-in/grant", [("grant", "nonsense")], jar), 404, "used up")
        let taken = try await fixture.post("/sign-in/grant", [("grant", url + ".")], jar)
        #expect(taken.status == 303 && taken.first("location") == "/t/acme/sign-in")
        let asked = try await fixture.get("/t/acme/sign-in", jar)
        expectHostedPage(asked, 200, "Add a sign-in")
        #expect(asked.text.contains("It is added to the account a…@example.com."))
        #expect(!asked.text.contains(Self.email))
        let mark = [("grant", hiddenField("grant", asked))]
        // Looking uses nothing up, and neither does the way to the provider.
        let confirm = try await fixture.passThrough(
            1, at: "/t/acme/sign-in", jar, email: "other@example.com", mark)
        expectHostedPage(confirm, 200, "Add Two?")
        #expect(
            confirm.text.contains(
                "Two as other@example.com will sign you in as a…@example.com."))
        #expect(try await fixture.users().first?["identities"]?.array?.count == 1)
        let done = try await fixture.post(
            "/sign-in/link", [("token", hiddenField("token", confirm))], jar)
        expectHostedPage(done, 200, "Two is added")
        #expect(jar.cookies["gatehouse_grant"] == nil)
        let users = try await fixture.users()
        #expect(users.count == 1 && users.first?["identities"]?.array?.count == 2)
        expectHostedPage(
            try await fixture.post("/sign-in/grant", [("grant", token)], jar), 404, "used up")
    }

    @Test func `a link grant adds no sign-in that did not begin on its page`() async throws {
        let fixture = try await Fixture()
        let (token, _) = try await grant(fixture)
        let invited = try await fixture.service.send(
            .post, "/v1/tenants/acme/invites",
            json: #"{"email":"vic@example.com","delivery":"link"}"#, as: .platformOwner)
        #expect(invited.status == 201)
        // An ordinary sign-in that began before, one beside it, and one with a forged mark.
        let jar = Jar()
        let before = try await fixture.post("/t/acme/sign-in", [("provider", fixture.ids[1])], jar)
        _ = try await fixture.post("/sign-in/grant", [("grant", token)], jar)
        let done = try await fixture.comeBack(1, from: before, jar, email: "vic@example.com")
        expectHostedPage(done, 200, "You are known as vic@example.com.")
        _ = try await fixture.post("/sign-in/grant", [("grant", token)], jar)
        expectHostedPage(
            try await fixture.passThrough(1, at: "/t/acme/sign-in", jar, email: "vic@example.com"),
            200, "You are known as vic@example.com.")
        _ = try await fixture.post("/sign-in/grant", [("grant", token)], jar)
        let page = try await fixture.get("/t/acme/sign-in", jar)
        for (used, mark) in [(jar, "x"), (Jar(), hiddenField("grant", page))] {
            expectHostedPage(
                try await fixture.post(
                    "/t/acme/sign-in", [("provider", fixture.ids[1]), ("grant", mark)], used), 400,
                "begin again")
        }
        // Another's question is not answered with it.
        let marked = [("grant", hiddenField("grant", page))]
        let confirm = try await fixture.passThrough(
            1, at: "/t/acme/sign-in", jar, email: "eve@example.com", marked)
        let stranger = Jar()
        expectHostedPage(
            try await fixture.post(
                "/sign-in/link", [("token", hiddenField("token", confirm))], stranger), 400,
            "begin again")
        let users = try await fixture.users()
        #expect(users.allSatisfy { $0["identities"]?.array?.count == 1 }, "\(users)")
    }

    @Test(arguments: [
        "@", "@.", "<@>", " @ \n", "https://g.example/sign-in#grant=@",
        "https://g.example/sign-in%23grant%3D@).", "https://g.example/sign-in#grant=\r\n@",
        "https%3A%2F%2Fg.example%2Fsign-in%2523grant%253D@", "“@”, ",
    ])
    func `a link or a code is taken as mails and people hand it on`(_ form: String) {
        let code = "ABCdef-_0123456789abcDEF-_0123456789abcDEF-_01234"
        let pasted = PastedLink(
            form.split(separator: "@", omittingEmptySubsequences: false).joined(separator: code))
        #expect(pasted?.code == code && pasted?.kind == (form.contains("grant") ? .grant : nil))
    }

    @Test func `without a code nothing is taken, and another page's link leads there`() async throws
    {
        for text in ["", "short", "#grant=", "https://g.example/sign-in"] {
            #expect(PastedLink(text) == nil, "\(text)")
        }
        let fixture = try await Fixture()
        let token = try await fixture.invite()
        let moved = try await fixture.post(
            "/sign-in/grant", [("grant", "https://elsewhere.example/invite#token=\(token)")], Jar())
        #expect(moved.status == 303)
        #expect(moved.first("location") == "http://gatehouse.test/invite#token=\(token)")
    }

    @Test
    func `a user signed out everywhere is asked to sign in again once, and then refused`()
        async throws
    {
        let fixture = try await Fixture()
        _ = try await fixture.invite()
        _ = try await fixture.passThrough(0, at: "/t/acme/sign-in", Jar())
        let user = try #require(try await fixture.users().first?["id"]?.string)
        let out = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(user)/sessions", as: .platformOwner)
        #expect(out.status == 204)
        let now = fixture.service.storage.clock().microseconds / 1_000_000
        let jar = Jar()
        let old = ["auth_time": "\(now - 3600)"]
        let sent = try await fixture.passThrough(0, at: "/t/acme/sign-in", jar, [], old)
        #expect(sent.status == 303, "\(sent.text)")
        let asked = FormText(String((sent.first("location") ?? "").drop { $0 != "?" }.dropFirst()))
        #expect(asked.first("max_age") == "0")
        expectHostedPage(
            try await fixture.comeBack(0, from: sent, jar, old), 401, "The session has ended")
        let again = try await fixture.passThrough(0, at: "/t/acme/sign-in", jar, [], old)
        expectHostedPage(
            try await fixture.comeBack(0, from: again, jar, ["auth_time": "\(now)"]), 200,
            "You are signed up")
    }

    @Test func `a stranger, another browser and a replay get nowhere`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.invite()
        let stranger = try await fixture.passThrough(
            0, at: "/t/acme/sign-in", Jar(), email: "eve@other.example")
        expectHostedPage(stranger, 403, "Contact your administrator (ref ")
        let begun = try await fixture.post("/t/acme/sign-in", [("provider", fixture.ids[0])], Jar())
        let asked = FormText(String((begun.first("location") ?? "").drop { $0 != "?" }.dropFirst()))
        let state = asked.first("state") ?? ""
        let other = Jar()
        for cookie in [nil, state, "\(state).x"] {
            other.cookies["gatehouse_sign_in"] = cookie
            expectHostedPage(
                try await fixture.get("/sign-in/callback?code=c&state=\(state)", other), 400,
                "begin again")
        }
        let jar = Jar()
        _ = try await fixture.passThrough(0, at: "/t/acme/sign-in", jar)
        expectHostedPage(
            try await fixture.get("/sign-in/callback?code=c&state=\(state)", jar), 400,
            "begin again")
        for fields in [
            [Field("sec-fetch-site", "cross-site")], [Field("sec-fetch-site", "same-site")],
        ] {
            expectHostedPage(
                try await fixture.post(
                    "/t/acme/sign-in", [("provider", fixture.ids[0])], Jar(), fields: fields), 403,
                "another site")
        }
    }

    @Test func `a second sign-in is added after a proof of the account and its owner's consent`()
        async throws
    {
        let fixture = try await Fixture()
        _ = try await fixture.invite()
        _ = try await fixture.passThrough(0, at: "/t/acme/sign-in", Jar())
        let jar = Jar()
        let asked = try await fixture.passThrough(1, at: "/t/acme/sign-in", jar)
        expectHostedPage(asked, 200, "Is this your account?")
        #expect(asked.text.contains("Continue with One"))
        #expect(!asked.text.contains("Continue with Two"))
        // Before it was proved nothing can be confirmed, with whatever form.
        let early = try await fixture.post(
            "/sign-in/link", [("token", hiddenField("token", asked))], jar)
        expectHostedPage(early, 400, "begin again")
        // The same sign-in once more is asked once more.
        expectHostedPage(
            try await fixture.passThrough(1, at: "/t/acme/sign-in", jar), 200,
            "Is this your account?")
        let confirm = try await fixture.passThrough(0, at: "/t/acme/sign-in", jar)
        expectHostedPage(confirm, 200, "Add Two?")
        #expect(try await fixture.users().first?["identities"]?.array?.count == 1)
        let token = hiddenField("token", confirm)
        for (sent, used) in [("x", jar), (token, Jar())] {
            expectHostedPage(
                try await fixture.post("/sign-in/link", [("token", sent)], used), 400, "begin again"
            )
        }
        let done = try await fixture.post("/sign-in/link", [("token", token)], jar)
        expectHostedPage(done, 200, "Two is added")
        let users = try await fixture.users()
        #expect(users.count == 1)
        #expect(users.first?["identities"]?.array?.count == 2)
        // From now on it leads to the same person.
        expectHostedPage(
            try await fixture.passThrough(1, at: "/t/acme/sign-in", Jar()), 200, "You are signed up"
        )
    }

    @Test func `an account with a password is proved by it`() async throws {
        let fixture = try await Fixture()
        let token = try await fixture.invite()
        let accepted = try await fixture.service.send(
            .post, "/v1/invites/accept",
            json: #"{"token":"\#(token)","password":"correct horse battery","name":"Ann"}"#)
        #expect(accepted.status == 200, "\(accepted.text)")
        let jar = Jar()
        let asked = try await fixture.passThrough(0, at: "/t/acme/sign-in", jar)
        expectHostedPage(asked, 200, "Is this your account?")
        let form = hiddenField("token", asked)
        expectHostedPage(
            try await fixture.post(
                "/sign-in/password", [("token", form), ("password", "wrong")], jar), 401,
            "password is wrong")
        let confirm = try await fixture.post(
            "/sign-in/password", [("token", form), ("password", "correct horse battery")], jar)
        expectHostedPage(confirm, 200, "Add One?")
        expectHostedPage(
            try await fixture.post(
                "/sign-in/link", [("token", hiddenField("token", confirm))], jar),
            200, "One is added")
        #expect(try await fixture.users().first?["identities"]?.array?.count == 2)
    }
}
