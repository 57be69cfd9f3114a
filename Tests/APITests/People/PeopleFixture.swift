import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// One person, Ada, in two tenants by Google, and Bob, who is in one of them.
struct PeopleFixture {
    static let address = "Ada.Person@ex.com"
    let service: TestService
    let clock: TestClock
    /// For sign-ups: it outlives the console's sessions.
    let hook: String
    /// By the tenant's slug.
    var ada: [String: String] = [:]
    var bob = ""

    static func make() async throws -> PeopleFixture {
        let clock = TestClock()
        let (service, _) = try await TestService.makeWithTenant(clock: clock)
        try await service.makeTenant("beta")
        try await service.manage(
            .post, "/v1/providers", #"{"kind":"google","name":"Google","client_id":"web"}"#)
        let key = try await service.manage(
            .post, "/v1/api-keys", #"{"name":"hook","scopes":["hooks:signup"]}"#)
        var made = PeopleFixture(
            service: service, clock: clock, hook: try #require(key["key"]?.string))
        for slug in ["acme", "beta"] {
            let policy = try await service.send(
                .put, "/v1/tenants/\(slug)/policy", json: #"{"sign_up":"open"}"#,
                as: .platformOwner, fields: [Field("if-match", "*")])
            #expect(policy.status == 200, "\(policy.text)")
            let answer = try await made.signIn(slug)
            made.ada[slug] = try #require(answer.json["user"]?["id"]?.string, "\(answer.text)")
        }
        let bob = try await made.signIn("acme", "bob-1", "bob@ex.com", name: "Bob")
        made.bob = try #require(bob.json["user"]?["id"]?.string, "\(bob.text)")
        return made
    }

    /// An event of its own, so that it is no retry of the one before.
    func signIn(
        _ tenant: String, _ subject: String = "ada-1", _ email: String = address,
        name: String = "Ada Person"
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/hooks/pre-signup",
            json: #"{"provider":"google","subject":"\#(subject)","email":"\#(email)","#
                + #""email_verified":true,"name":"\#(name)","tenant":"\#(tenant)","#
                + #""event_id":"\#(Text.UUID.random())"}"#,
            as: .bearer(hook))
    }

    func search(
        _ json: String = #"{"email":"\#(address)"}"#,
        as who: TestService.Credential = .platformOwner
    ) async throws -> TestAnswer {
        try await service.send(.post, "/v1/people/search", json: json, as: who)
    }

    /// `slug id`, in the order of the answer.
    func found(_ json: String = #"{"email":"\#(address)"}"#) async throws -> [String] {
        let answer = try await search(json)
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["items"]?.array ?? []).map {
            "\($0["tenant"]?["slug"]?.string ?? "") \($0["id"]?.string ?? "")"
        }
    }

    var both: [(String, String)] { ada.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    func act(
        _ action: String, _ users: [(String, String)], reason: String = "Request 4711",
        confirm: String = "", as who: TestService.Credential = .platformOwner,
        fields: [Field] = []
    ) async throws -> TestAnswer {
        let list = users.map { #"{"tenant":"\#($0)","id":"\#($1)"}"# }.joined(separator: ",")
        return try await service.send(
            .post, "/v1/people/actions" + (confirm.isEmpty ? "" : "?confirm=\(confirm)"),
            json: #"{"action":"\#(action)","users":[\#(list)],"reason":"\#(reason)"}"#, as: who,
            fields: fields)
    }

    /// Both steps.
    func erase(
        _ users: [(String, String)], as who: TestService.Credential = .platformOwner
    ) async throws -> TestAnswer {
        let asked = try await act("erase", users, as: who)
        #expect(asked.status == 409, "\(asked.text)")
        let confirm = try #require(asked.json["confirm"]?.string, "\(asked.text)")
        return try await act("erase", users, confirm: confirm, as: who)
    }

    func events(_ tenant: String, _ action: String) async throws -> [JSONValue] {
        let answer = try await service.send(
            .get, "/v1/tenants/\(tenant)/audit-events?action=\(action)", as: .platformOwner)
        return answer.json["items"]?.array ?? []
    }
}

extension TestAnswer {
    /// `done`, or the code.
    var results: [String] {
        (json["results"]?.array ?? []).map {
            $0["code"]?.string ?? $0["result"]?.string ?? ""
        }
    }
}
