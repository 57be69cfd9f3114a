import Application
import Cryptography
import Domain
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

    static func make(role: Operator.Role = .owner) async throws -> OperatorFixture {
        let clock = TestClock()
        let service = try await TestService.make(clock: { clock.now })
        let hash = try await service.composition.passwords.hash(Array(password.utf8))
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
            json: #"{"email":"\#(Self.email)","password":"\#(password)"\#(more)}"#, from: address)
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
        try await service.send(method, path, json: json, as: .session(token), from: address)
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
