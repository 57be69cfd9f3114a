import HTTP
import JSON
import TestSupport
import Testing

/// Refusals that lead on: what most programs print is the sentence that helps.
@Suite(.cleansUp) struct HintTests {
    @Test func `the detail of a 422 is its first fault`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let one = try await service.send(.get, "/v1/tenants?limit=0", as: .platformOwner)
        let first = one.json["errors"]?.array?.first
        #expect(one.status == 422)
        #expect(one.json["detail"]?.string == "?limit \(first?["detail"]?.string ?? "")" + ".")
        let three = try await service.send(
            .post, "/v1/providers", json: #"{"a":1,"b":2,"c":3}"#, as: .platformOwner)
        let detail = three.json["detail"]?.string ?? ""
        let count = three.json["errors"]?.array?.count ?? 0
        #expect(detail.hasPrefix("/"))
        #expect(
            count > 2 && detail.hasSuffix("; `errors` has \(count - 1) more errors."), "\(detail)")
    }

    @Test(arguments: [
        ("page=2", "use `cursor`"), ("per_page=5", "use `limit`"), ("offset=10", "use `cursor`"),
        ("search=ann", "use `q`"), ("order=name", "use `sort`"),
        ("format=csv", "`Accept: text/csv`"),
    ])
    func `a parameter of another interface is told what it is called here`(
        _ query: String, _ hint: String
    ) async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let answer = try await service.send(
            .get, "/v1/tenants/acme/users?\(query)", as: .platformOwner)
        #expect(answer.status == 422)
        #expect(answer.json["detail"]?.string?.contains(hint) == true, "\(answer.text)")
    }

    @Test func `for a path without version or with an extra slash, the 404 names the right path`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        for (path, meant) in [
            ("/tenants", "/v1/tenants"), ("/tenants/", "/v1/tenants"),
        ] {
            let answer = try await service.send(.get, path, as: .platformOwner)
            #expect(answer.status == 404)
            #expect(answer.json["detail"]?.string == "There is no such path; `\(meant)` is one.")
        }
    }

    @Test func `a PATCH of a user's address or status says how to change it`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let user = try await service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"ann@a.example"}"#,
            as: .tenantAdmin(tenant))
        let path = "/v1/tenants/acme/users/\(user.json["id"]?.string ?? "")"
        for (change, hint) in [
            (#"{"email":"b@a.example"}"#, "/email-change"),
            (#"{"status":"suspended"}"#, "/suspend"),
        ] {
            let answer = try await service.send(
                .patch, path, json: change, as: .tenantAdmin(tenant))
            #expect(answer.status == 422)
            #expect(answer.json["detail"]?.string?.contains(hint) == true, "\(answer.text)")
        }
    }

    @Test func `a provider that is there already is named, when one is made and when one moves`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        func body(_ issuer: String) -> String {
            #"{"kind":"oidc","name":"P","issuer":"https://\#(issuer).example","client_id":"c"}"#
        }
        let first = try await service.send(
            .post, "/v1/providers", json: body("one"), as: .platformOwner)
        let again = try await service.send(
            .post, "/v1/providers", json: body("one"), as: .platformOwner)
        #expect(again.status == 409)
        #expect(again.json["conflicting_id"] == first.json["id"])
        let other = try await service.send(
            .post, "/v1/providers", json: body("two"), as: .platformOwner)
        let moved = try await service.send(
            .patch, "/v1/providers/\(other.json["id"]?.string ?? "")",
            json: #"{"issuer":"https://one.example"}"#, as: .platformOwner)
        #expect(moved.status == 409)
        #expect(moved.json["conflicting_id"] == first.json["id"])
    }

    @Test func `the verdict on a key over its limit says when it is valid again`() async throws {
        let clock = TestClock()
        let (service, tenant) = try await TestService.makeWithTenant(clock: clock)
        clock.startMinute()
        clock.advance(seconds: 18)
        let made = try await service.send(
            .post, "/v1/tenants/acme/api-keys",
            json: #"{"name":"K","scopes":["users:read"],"rate_limit":{"per_minute":1}}"#,
            as: .tenantAdmin(tenant))
        let question = #"{"key":"\#(made.json["key"]?.string ?? "")"}"#
        var answers: [TestAnswer] = []
        for _ in 1...2 {
            answers.append(
                try await service.send(
                    .post, "/v1/api-keys/verify", json: question, as: .platformOwner))
        }
        #expect(answers[0].json["valid"]?.bool == true, "\(answers[0].text)")
        #expect(answers[1].json["code"]?.string == "rate_limited")
        #expect(answers[1].json["retry_after"] == .number("42"))
    }
}
