import HTTP
import JSON
import Storage
import TestSupport
import Testing

/// Subjects are public, or known to every app that a person signed in to: a tenant that claims one
/// in its own name must not get in the way of that person elsewhere.
@Suite(.cleansUp) struct TenantAssertionTests {
    private static let victim = ("110169484474386276334", "vic@gmail.com")

    private struct Fixture {
        let base: ProvisioningFixture
        let evil: TenantRow
        let key: String

        static func make() async throws -> Fixture {
            let base = try await ProvisioningFixture.make()
            let evil = try await base.service.storage.createTenant(
                slug: "evil", name: "Evil", policy: .object([]), by: .system)
            let made = try await base.service.send(
                .post, "/v1/tenants/evil/api-keys",
                json: #"{"name":"k","scopes":["hooks:signup","users:write","users:read"]}"#,
                as: .tenantAdmin(evil))
            let key = try #require(made.json["key"]?.string, "\(made.text)")
            return Fixture(base: base, evil: evil, key: key)
        }

        func send(_ method: HTTP.Method, _ path: String, _ json: String) async throws -> TestAnswer
        {
            try await base.service.send(method, path, json: json, as: .bearer(key))
        }

        func user(_ email: String) async throws -> String {
            let made = try await send(
                .post, "/v1/tenants/evil/users", #"{"email":"\#(email)"}"#)
            return try #require(made.json["id"]?.string, "\(made.text)")
        }

        /// By its own hook, as the tenant's row of that address.
        func claim(_ subject: String, _ email: String) async throws -> TestAnswer {
            try await send(
                .post, "/v1/hooks/pre-signup",
                #"{"provider":"google","subject":"\#(subject)","email":"\#(email)","#
                    + #""email_verified":true}"#)
        }
    }

    @Test func `a claim by a tenant's hook does not take over a person invited elsewhere`()
        async throws
    {
        let fixture = try await Fixture.make()
        _ = try await fixture.user("dummy@evil.example")
        let claimed = try await fixture.claim(Self.victim.0, "dummy@evil.example")
        #expect(claimed.json["outcome"]?.string == "linked", "\(claimed.text)")
        try await fixture.base.invite(Self.victim.1)
        let answer = try await fixture.base.google(Self.victim.0, Self.victim.1)
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        #expect(answer.json["tenant"]?["slug"]?.string == "acme")
        let again = try await fixture.base.google(Self.victim.0, Self.victim.1)
        #expect(again.json["tenant"]?["slug"]?.string == "acme", "\(again.text)")
    }

    @Test(arguments: ["suspend", "delete"])
    func `a claim by an operator's word refuses no person elsewhere`(_ verb: String) async throws {
        let fixture = try await Fixture.make()
        let dummy = try await fixture.user("dummy@evil.example")
        let path = "/v1/tenants/evil/users/\(dummy)"
        let linked = try await fixture.send(
            .post, path + "/identities",
            #"{"provider":"google","issuer":"https://accounts.google.com","#
                + #""subject":"\#(Self.victim.0)"}"#)
        #expect(linked.status == 201, "\(linked.text)")
        let done = try await fixture.base.service.send(
            verb == "delete" ? .delete : .post, verb == "delete" ? path : path + "/suspend",
            as: .tenantAdmin(fixture.evil))
        #expect(done.status < 300, "\(done.text)")
        try await fixture.base.invite(Self.victim.1)
        let answer = try await fixture.base.google(Self.victim.0, Self.victim.1)
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        #expect(answer.json["tenant"]?["slug"]?.string == "acme")
    }

    /// What a tenant says counts in it: where it alone knows the address, and where it is asked.
    @Test func `a person whom a tenant's hook linked is known there`() async throws {
        let fixture = try await Fixture.make()
        let id = try await fixture.user("eve@evil.example")
        _ = try await fixture.claim("5", "eve@evil.example")
        for more in ["", #","tenant":"evil""#] {
            let answer = try await fixture.base.google("5", "eve@evil.example", more: more)
            #expect(answer.json["outcome"]?.string == "existing", "\(answer.text)")
            #expect(answer.json["user"]?["id"]?.string == id)
        }
        let asked = try await fixture.base.google(
            "5", "new@elsewhere.example", more: #","tenant":"evil""#)
        #expect(asked.json["user"]?["id"]?.string == id, "\(asked.text)")
        let elsewhere = try await fixture.base.google("5", "new@elsewhere.example")
        #expect(elsewhere.json["reason"]?.string == "no_tenant", "\(elsewhere.text)")
    }
}
