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

/// A service with a name for passkeys, and operators at it.
struct PasskeyFixture {
    static let origin = "https://gatehouse.test"
    static let path = "/v1/me/passkeys"

    let service: TestService
    let clock: TestClock

    static func make(
        publicURL: String = origin, mail: ExternalServices.Mail? = nil
    ) async throws -> PasskeyFixture {
        let clock = TestClock()
        let service = try await TestService.make(
            publicURL: publicURL, externalServices: ExternalServices(mail: mail),
            clock: { clock.now })
        return PasskeyFixture(service: service, clock: clock)
    }

    /// An active operator with a password and a fresh session.
    func person(
        _ name: String, role: Operator.Role = .owner, tenant: UUID? = nil, hasPassword: Bool = true
    ) async throws -> (row: OperatorRow, session: String) {
        let email = "\(name)@operators.test"
        let hash =
            hasPassword
            ? try await service.composition.application.passwords.hash(
                Array("long enough \(name)".utf8)) : nil
        let row = try await service.storage.createOperator(
            email: email, emailKey: email, name: name, role: role, tenant: tenant,
            passwordHash: hash, by: .system)
        return (row, try await begin(row))
    }

    /// A new session: by the password, or by a recovery code, which proves no presence, where there is
    /// a second factor.
    func begin(_ known: OperatorRow) async throws -> String {
        let token = TokenSecret.make()
        let person = try #require(try await service.storage.operatorRow(known.id))
        try await service.storage.startOperatorSession(
            person, tokenHash: TokenSecret.hash(token) ?? [], userAgent: nil,
            method: person.factors.hasSecondFactor ? .recoveryCode : .password,
            by: .system)
        return token
    }

    func send(
        _ method: Method, _ path: String = path, _ json: String? = nil, as session: String
    ) async throws -> TestAnswer {
        try await service.send(method, path, json: json, as: .session(session))
    }

    func options(_ session: String, for purpose: Passkey.Purpose = .registration) async throws
        -> JSONValue
    {
        let answer = try await send(
            .post, Self.path + "/options", #"{"purpose":"\#(purpose.rawValue)"}"#, as: session)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    static func body(_ passkey: String, name: String = "Laptop") -> String {
        #"{"name":"\#(name)","passkey":\#(passkey)}"#
    }

    /// A passkey that is stored, with its id.
    func registered(
        _ session: String, name: String = "Laptop", counter: UInt32 = 0
    ) async throws -> (passkey: SoftPasskey, id: String) {
        var passkey = try SoftPasskey(origin: Self.origin)
        passkey.counter = counter
        let answer = try await send(
            .post, Self.path, Self.body(passkey.register(options(session)), name: name),
            as: session)
        #expect(answer.status == 201, "\(answer.text)")
        return (passkey, try #require(answer.json["id"]?.string))
    }

    /// The options of a sign-in, and the cookie that binds them, as `name=value`.
    func signInOptions(
        cookie: String? = nil, from address: String = "192.0.2.7"
    ) async throws -> (options: JSONValue, cookie: String) {
        let answer = try await service.send(
            .post, "/v1/session/passkey-options", json: "{}",
            fields: cookie.map { [Field("cookie", $0)] } ?? [], from: address)
        #expect(answer.status == 200, "\(answer.text)")
        let set = try #require(answer.first("set-cookie"))
        return (answer.json, String(set.prefix { $0 != ";" }))
    }

    func signIn(
        _ passkey: String, cookie: String?, from address: String = "192.0.2.7",
        device: Field? = nil
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/session", json: #"{"passkey":\#(passkey)}"#,
            fields: (cookie.map { [Field("cookie", $0)] } ?? []) + (device.map { [$0] } ?? []),
            from: address)
    }

    /// One sign-in by fresh options.
    func signIn(_ passkey: inout SoftPasskey, device: Field? = nil) async throws -> TestAnswer {
        let (options, cookie) = try await signInOptions()
        return try await signIn(passkey.sign(options), cookie: cookie, device: device)
    }

    func stepUp(_ passkey: String, as session: String) async throws -> TestAnswer {
        try await send(.post, "/v1/session/step-up", #"{"passkey":\#(passkey)}"#, as: session)
    }

    /// The session's token that an answer sets.
    static func session(of answer: TestAnswer) -> String? {
        for field in answer.response.fields where field.name == "set-cookie" {
            let pair = field.value.prefix { $0 != ";" }
            if pair.hasPrefix("gatehouse=") { return String(pair.dropFirst(10)) }
        }
        return nil
    }

    /// The actions of the audit, newest first; those of one time in no order.
    func actions(in tenant: UUID = .platform) async throws -> [String] {
        let rows = try await service.storage.scope(tenant).read(
            """
            SELECT action FROM audit_events WHERE tenant_id = \(tenant)
            ORDER BY occurred_at DESC
            """)
        return try rows.map { try $0.get(0) }
    }
}
