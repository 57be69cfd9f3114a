import API
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A tenant that people ask to join, with a mail server and a clock. A platform key asks, which
/// outlives console sessions.
struct JoinFixture {
    static let users = "/v1/tenants/acme/users"

    let base: ProvisioningFixture
    let sink: SMTPSink
    let clock: TestClock
    let key: String

    var service: TestService { base.service }

    static func make(policy: String = #"{"sign_up":"approval"}"#) async throws -> JoinFixture {
        let (sink, clock) = (SMTPSink(), TestClock())
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))),
            clock: { clock.now })
        let tenant = try await service.storage.createTenant(
            slug: "acme", name: "Acme", policy: try JSONValue(parsing: Array(policy.utf8)),
            by: .system)
        let base = ProvisioningFixture(service: service, tenant: tenant)
        try await base.register(#"{"kind":"google","name":"Google","client_id":"web"}"#)
        let made = try await service.manage(
            .post, "/v1/api-keys",
            #"{"name":"all","scopes":["hooks:signup","users:write","users:read","invites:write","#
                + #""policy:read","policy:write","audit:read"]}"#)
        let key = try #require(made["key"]?.string)
        return JoinFixture(base: base, sink: sink, clock: clock, key: key)
    }

    func send(
        _ method: Method, _ path: String, _ json: String? = nil, fields: [Field] = []
    ) async throws -> TestAnswer {
        try await service.send(method, path, json: json, as: .bearer(key), fields: fields)
    }

    /// Comes to the tenant's page; each time is another event.
    func asks(
        _ email: String, subject: String? = nil, more: String = #","tenant":"acme""#
    ) async throws -> TestAnswer {
        try await send(
            .post, "/v1/hooks/pre-signup",
            #"{"provider":"google","subject":"\#(subject ?? email)","email":"\#(email)","#
                + #""email_verified":true,"event_id":"\#(UUID.random())"\#(more)}"#)
    }

    /// The id of the user who waits now.
    func waits(_ email: String) async throws -> String {
        let answer = try await asks(email)
        #expect(answer.json["outcome"]?.string == "created", "\(answer.text)")
        #expect(answer.json["user"]?["status"]?.string == "pending", "\(answer.text)")
        return try #require(answer.json["user"]?["id"]?.string)
    }

    func verb(_ verb: String, _ user: String, _ json: String? = nil) async throws -> TestAnswer {
        try await send(.post, "\(Self.users)/\(user)/\(verb)", json)
    }

    func publish(_ policy: String) async throws -> TestAnswer {
        try await send(
            .put, "/v1/tenants/acme/policy", policy, fields: [Field("if-match", "*")])
    }

    func carriedMails() async throws -> [SMTPSink.Mail] {
        let mailSender = try #require(service.composition.mailSender)
        while try await mailSender.round() > 0 {}
        return sink.mails
    }

    /// People who wait, written at once.
    func fill(_ count: Int) async throws {
        try await service.storage.scope(base.tenant.id).change(by: .system) { change in
            try await change.addUsers(1...count, .pending, source: "approval")
        }
    }
}
