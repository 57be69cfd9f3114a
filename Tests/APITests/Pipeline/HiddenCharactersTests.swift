import API
import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Names, labels, notes, addresses and ids by one rule, at every door.
@Suite(.serialized, .cleansUp) struct HiddenCharactersTests {
    private static let around = "\u{A0}\u{200B}\u{FEFF}"

    private static let doors: [(path: String, body: String, member: String)] = [
        ("/v1/tenants/acme/users", #"{"email":"x@acme.example","name":"?"}"#, "name"),
        ("/v1/tenants/acme/api-keys", #"{"name":"?","scopes":["users:read"]}"#, "name"),
        ("/v1/tenants/acme/api-keys", #"{"name":"k","note":"?","scopes":["users:read"]}"#, "note"),
        ("/v1/tenants/acme/cors-origins", #"{"origin":"https://a.example","label":"?"}"#, "label"),
        ("/v1/tenants", #"{"slug":"other","name":"?"}"#, "name"),
        ("/v1/tenants/acme/users", #"{"email":"y@acme.example","external_id":"?"}"#, "external_id"),
        (
            "/v1/providers",
            #"{"kind":"oidc","name":"p","issuer":"https://i.example","client_id":"?"}"#, "client_id"
        ),
    ]

    @Test(arguments: doors.indices)
    func `invisible characters are stripped at the ends and refused inside`(_ index: Int)
        async throws
    {
        let (path, body, member) = Self.doors[index]
        let (service, _) = try await TestService.makeWithTenant()
        func send(_ text: String) async throws -> TestAnswer {
            try await service.send(
                .post, path, json: body.replacing("?", with: text), as: .platformOwner)
        }
        for inside in ["a\u{200B}b", "a\u{202E}b", "a\\nb", "\u{3164}", "\u{34F}", "a\u{E0041}b"] {
            let refused = try await send(inside)
            #expect(refused.status == 422, "\(refused.text)")
            #expect(try refused.response.errors().first == "/\(member) invalid")
        }
        #expect(try await send("a\u{200B}b").text.contains("U+200B"))
        let made = try await send(Self.around + "Anna Lee" + Self.around)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.text.contains(#""\#(member)":"Anna Lee""#), "\(made.text)")
    }

    @Test func `every entry point names a hidden character in an address, and strips outer ones`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        for (path, body) in [
            ("/v1/tenants/acme/users", #"{"email":"?"}"#),
            ("/v1/tenants/acme/invites", #"{"email":"?","delivery":"link"}"#),
            ("/v1/operators", #"{"email":"?","role":"support","scope":{"platform":true}}"#),
        ] {
            let refused = try await service.send(
                .post, path, json: body.replacing("?", with: "ann@ac\u{200B}me.example"),
                as: .platformOwner)
            #expect(refused.status == 422 && refused.text.contains("U+200B"), "\(refused.text)")
            guard !path.hasSuffix("operators") else { continue }
            let made = try await service.send(
                .post, path, json: body.replacing("?", with: "\u{A0}ann@acme.example \u{200B}"),
                as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
            #expect(made.json["email"] == .string("ann@acme.example"))
        }
    }

    @Test func `a raw plus in a query is explained`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        for (query, isExplained) in [
            ("since=2026-01-01T00:00:00+02:00", true), ("since=2026-01-01", false),
            ("since=2026-01-01T00:00:00%2B02:00", false),
        ] {
            let answer = try await service.send(
                .get, "/v1/tenants/acme/audit-events?" + query, as: .platformOwner)
            #expect(answer.text.contains("%2B") == isExplained, "\(answer.text)")
        }
    }
}
