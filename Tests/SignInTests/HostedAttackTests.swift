import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Attacks on another person's sign-in on the pages that the server shows itself.
@Suite(.cleansUp) struct HostedAttackTests {
    private static let page = [Field("sec-fetch-site", "same-origin")]

    private static func register(
        _ provider: TestProvider, _ service: TestService, as credential: TestService.Credential
    ) async throws -> String {
        let made = try await service.send(
            .post, "/v1/providers",
            json: #"{"kind":"oidc","name":"Way","issuer":"\#(provider.issuer)","client_id":"web"}"#,
            as: credential)
        #expect(made.status == 201, "\(made.text)")
        return made.json["id"]?.string ?? ""
    }

    private static func begin(
        _ path: String, _ provider: String, _ service: TestService, isTLS: Bool = false
    ) async throws -> (asked: FormText, answer: TestAnswer) {
        let begun = try await service.send(
            .post, path, json: "provider=\(provider)",
            fields: page + [Field("content-type", "application/x-www-form-urlencoded")],
            isTLS: isTLS)
        #expect(begun.status == 303, "\(begun.text)")
        let query = (begun.first("location") ?? "").drop { $0 != "?" }.dropFirst()
        return (FormText(String(query)), begun)
    }

    private static func cookie(_ answer: TestAnswer) -> String {
        String((answer.first("set-cookie") ?? "").prefix { $0 != ";" })
    }

    /// The tenant's provider leads people on to the platform's with a challenge of its owner's own
    /// sign-in there, and waits for the code, which would fit that one (RFC 9700 section 4.4).
    @Test func `a tenant's provider never sees a code that another provider gave`() async throws {
        let service = try await TestService.make()
        let honest = try await TestProvider.start()
        let hostile = try await TestProvider.start()
        let tenant = try await service.makeTenant("evil")
        _ = try await Self.register(honest, service, as: .platformOwner)
        let own = try await Self.register(hostile, service, as: .tenantAdmin(tenant))
        hostile.set("/token", .init(#"{"error":"invalid_grant"}"#))
        let begun = try await Self.begin("/t/evil/sign-in", own, service)
        // What the platform's provider is registered with, where its answers come in.
        let back = try await service.send(
            .get, "/sign-in/callback?code=honest&state=\(begun.asked.first("state") ?? "")",
            fields: [Field("cookie", Self.cookie(begun.answer))])
        #expect(back.status == 400 && back.text.contains("begin again"), "\(back.text)")
        #expect(hostile.fetches(of: "/token") == 0)
        #expect(
            begun.asked.first("redirect_uri") == "http://gatehouse.test/t/evil/sign-in/callback")
        // Its own answers come in at its own address, and no other tenant's.
        try await service.makeTenant("other")
        for path in ["/t/other/sign-in/callback", "/t/evil/sign-in/callback"] {
            let again = try await Self.begin("/t/evil/sign-in", own, service)
            _ = try await service.send(
                .get, "\(path)?code=own&state=\(again.asked.first("state") ?? "")",
                fields: [Field("cookie", Self.cookie(again.answer))])
            #expect(hostile.fetches(of: "/token") == (path.contains("evil") ? 1 : 0), "\(path)")
        }
    }

    /// A page of a sibling host may set cookies for all hosts of the domain, but none of that prefix.
    @Test func `under TLS a cookie that another host set is not taken`() async throws {
        let service = try await TestService.make()
        let provider = try await TestProvider.start()
        try await service.makeTenant("acme")
        let id = try await Self.register(provider, service, as: .platformOwner)
        let (asked, answer) = try await Self.begin("/t/acme/sign-in", id, service, isTLS: true)
        let set = answer.first("set-cookie") ?? ""
        #expect(set.hasPrefix("__Host-gatehouse_sign_in="))
        #expect(set.hasSuffix("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"), "\(set)")
        #expect(answer.first("cache-control") == "no-store")
        let tossed = String(Self.cookie(answer).dropFirst("__Host-".utf8.count))
        let way = "/sign-in/callback?code=c&state=\(asked.first("state") ?? "")"
        for (cookie, fetches) in [(tossed, 0), (Self.cookie(answer), 1)] {
            _ = try await service.send(
                .get, way, fields: [Field("cookie", cookie)], isTLS: true)
            #expect(provider.fetches(of: "/token") == fetches)
        }
    }

    @Test func `an invalid authorization endpoint gets no redirect`() async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        for address in [
            "javascript:alert(document.cookie)", "data:text/html,hello", "//evil.example/",
            "https://evil.example/\\r\\nset-cookie: a=b",
        ] {
            let provider = try await TestProvider.start()
            let issuer = provider.issuer
            provider.set(
                TestProvider.discoveryPath,
                .init(
                    """
                    {"issuer":"\(issuer)","jwks_uri":"\(issuer)/keys",
                    "authorization_endpoint":"\(address)","token_endpoint":"\(issuer)/token"}
                    """))
            let id = try await Self.register(provider, service, as: .platformOwner)
            let begun = try await service.send(
                .post, "/t/acme/sign-in", json: "provider=\(id)",
                fields: Self.page + [Field("content-type", "application/x-www-form-urlencoded")])
            #expect(begun.status == 503 && begun.first("location") == nil, "\(address)")
        }
    }
}
