import Gatehouse
import HTTP
import JSON
import Runtime
import Storage
import TestSupport
import Testing
import Text

/// The server's own pages, with two providers, the tenant `acme` and browsers: each jar keeps cookies
/// and posts forms as pages have them.
struct HostedFixture {
    static let email = "ann@example.com"
    static let callback = "http://gatehouse.test/sign-in/callback"
    static let sameOrigin = [
        Field("sec-fetch-site", "same-origin"), Field("origin", "http://gatehouse.test"),
    ]

    let service: TestService
    let first: TestProvider
    let second: TestProvider
    let ids: [String]

    init(logger: Logger? = nil) async throws {
        service = try await TestService.make(logger: logger)
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

    func invite(_ tenant: String = "acme") async throws -> String {
        let made = try await service.send(
            .post, "/v1/tenants/\(tenant)/invites",
            json: #"{"email":"\#(Self.email)","delivery":"link"}"#, as: .platformOwner)
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
        _ number: Int, at path: String, _ jar: Jar, email: String = HostedFixture.email,
        _ more: [(String, String)] = [], _ claims: [String: String?] = [:]
    ) async throws -> TestAnswer {
        let begun = try await post(path, [("provider", ids[number])] + more, jar)
        #expect(begun.status == 303, "\(begun.text)")
        return try await comeBack(number, from: begun, jar, email: email, claims)
    }

    /// Back from where a begun sign-in led to.
    func comeBack(
        _ number: Int, from begun: TestAnswer, _ jar: Jar, email: String = HostedFixture.email,
        _ claims: [String: String?] = [:]
    ) async throws -> TestAnswer {
        let location = begun.first("location") ?? ""
        let provider = number == 0 ? first : second
        #expect(location.hasPrefix(provider.issuer))
        let asked = FormText(String(location.drop { $0 != "?" }.dropFirst()))
        #expect(asked.first("redirect_uri") == HostedFixture.callback)
        let own: [String: String?] = [
            "nonce": "\"\(asked.first("nonce") ?? "")\"", "email": "\"\(email)\"",
            "sub": "\"\(email)\"",
        ]
        let token = provider.mint(clientID: "web", now: Timestamp.systemClock()).token(
            own.merging(claims) { $1 })
        provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        return try await get(
            "/sign-in/callback?code=c&state=\(asked.first("state") ?? "")", jar)
    }

    func users(_ tenant: String = "acme") async throws -> [JSONValue] {
        let answer = try await service.send(
            .get, "/v1/tenants/\(tenant)/users", as: .platformOwner)
        return answer.json["items"]?.array ?? []
    }

    final class Jar {
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
}

/// The value of a page's hidden field.
func hiddenField(_ name: String, _ page: TestAnswer) -> String {
    let parts = page.text.split(separator: "name=\"\(name)\" value=\"", maxSplits: 1)
    return parts.count == 2 ? String(parts[1].prefix { $0 != "\"" }) : ""
}

func expectHostedPage(
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
