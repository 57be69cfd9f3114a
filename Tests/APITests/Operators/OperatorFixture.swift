import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A platform's owner with a password, and what tests of the console's door do with it.
struct OperatorFixture {
    static let email = "owner@door.example"
    static let password = "correct horse battery staple"

    let service: TestService
    let clock: TestClock
    let id: UUID

    static func make(
        role: Operator.Role = .owner, mail: ExternalServices.Mail? = nil,
        secondFactorDays: Int? = nil
    ) async throws -> OperatorFixture {
        let clock = TestClock()
        let service = try await TestService.make(
            externalServices: ExternalServices(mail: mail), secondFactorDays: secondFactorDays,
            clock: { clock.now })
        let hash = try await service.composition.application.passwords.hash(Array(password.utf8))
        let row = try await service.storage.createOperator(
            email: email, emailKey: email, name: "Owner", role: role, tenant: nil,
            passwordHash: hash, by: .system)
        return OperatorFixture(service: service, clock: clock, id: row.id)
    }

    /// The session's token that an answer sets.
    static func cookie(of answer: TestAnswer) -> String? {
        answer.first("set-cookie")?.split(separator: ";").first?.split(separator: "=").last
            .map(String.init)
    }

    /// `more`: further members, with their comma.
    func signIn(
        _ password: String = password, _ more: String = "", from address: String = "192.0.2.1"
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/session",
            json: #"{"email":"\#(Self.email)","password":"\#(password)"\#(more)}"#,
            fields: [Self.device(address)], from: address)
    }

    /// The cookie of a browser, one for each name; here the address is its name.
    static func device(_ name: String) -> Field {
        Field("cookie", "gatehouse-device=\(Base64URL.encode(SHA256.hash(Array(name.utf8))))")
    }

    /// The token of a new session.
    func signedIn(_ more: String = "") async throws -> String {
        let answer = try await signIn(Self.password, more)
        #expect(answer.status == 201, "\(answer.text)")
        return try #require(Self.cookie(of: answer))
    }

    func send(
        _ method: Method, _ path: String, _ json: String? = nil, as token: String,
        from address: String = "192.0.2.1"
    ) async throws -> TestAnswer {
        try await service.send(
            method, path, json: json, as: .session(token),
            fields: [Self.device(address)], from: address)
    }

    /// The app's code of now, or of another step.
    func code(_ app: TOTP, steps: Int64 = 0) -> String {
        app.code(of: TOTP.step(at: clock.now.microseconds / 1_000_000) + steps)
    }

    func offer(as token: String) async throws -> TOTP {
        let answer = try await send(.post, "/v1/me/totp", "{}", as: token)
        #expect(answer.status == 201, "\(answer.text)")
        return try #require(TOTP(shown: answer.json["seed"]?.string ?? ""))
    }

    func confirm(_ app: TOTP, as token: String) async throws -> TestAnswer {
        try await send(.post, "/v1/me/totp/confirm", #"{"code":"\#(code(app))"}"#, as: token)
    }

    /// Sets an app up; its next code is good from now on.
    func withApp(_ password: String = password) async throws -> TOTP {
        let answer = try await signIn(password)
        let session = try #require(Self.cookie(of: answer), "\(answer.text)")
        let app = try await offer(as: session)
        #expect(try await confirm(app, as: session).status == 204)
        clock.advance(seconds: 30)
        return app
    }

    func stepUp(_ token: String, _ json: String) async throws -> TestAnswer {
        try await send(.post, "/v1/session/step-up", json, as: token)
    }

    /// The actions of the audit, newest first.
    func actions() async throws -> [String] {
        let rows = try await service.storage.scope(.platform).read(
            """
            SELECT action FROM audit_events WHERE tenant_id = \(UUID.platform)
            ORDER BY occurred_at DESC, seq DESC
            """)
        return try rows.map { try $0.get(0) }
    }
}
