import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What an operator proved before a change of what they sign in with opens nothing after it: each test
/// holds a sign-in between its proof and its session.
@Suite(.cleansUp) struct StaleProofTests {
    /// The changes, with what has to be there before.
    private static let changes:
        [(String, @Sendable (OperatorFixture, String) async throws -> Void)] = [
            (
                "a new password",
                { fixture, session in
                    let answer = try await fixture.send(
                        .put, "/v1/me/password", #"{"password":"a quite different password"}"#,
                        as: session)
                    #expect(answer.status == 204, "\(answer.text)")
                }
            ),
            (
                "a reset password",
                { fixture, _ in
                    let token = TokenSecret.make()
                    _ = try await fixture.service.storage.offerOperatorReset(
                        to: OperatorFixture.email, tokenHash: TokenSecret.hash(token) ?? [],
                        by: .system)
                    let answer = try await fixture.service.send(
                        .post, "/v1/password-resets/confirm",
                        json: #"{"token":"\#(token)","password":"a quite different password"}"#)
                    #expect(answer.status == 204, "\(answer.text)")
                }
            ),
            (
                "an app that comes",
                { fixture, session in
                    let app = try await fixture.offer(as: session)
                    #expect(try await fixture.confirm(app, as: session).status == 204)
                }
            ),
            (
                "a suspension that was taken back",
                { fixture, _ in
                    for status in ["suspended", "active"] {
                        try await fixture.service.manage(
                            .patch, "/v1/operators/\(fixture.id)", #"{"status":"\#(status)"}"#)
                    }
                }
            ),
        ]

    @Test(arguments: changes.indices)
    func `a sign-in and a step-up in flight end with it`(index: Int) async throws {
        let (name, change) = Self.changes[index]
        let fixture = try await OperatorFixture.make()
        let storage = fixture.service.storage
        let session = try await fixture.signedIn()
        let seen = try #require(try await storage.operatorRow(fixture.id))
        let token = TokenSecret.make()
        try await change(fixture, session)
        await #expect(throws: StorageFailure.self, "\(name)") {
            try await storage.startOperatorSession(
                seen, tokenHash: TokenSecret.hash(token) ?? [], userAgent: nil, method: .password,
                by: .system)
        }
        #expect(try await fixture.send(.get, "/v1/session", as: token).status == 401, "\(name)")
        await #expect(throws: StorageFailure.self, "\(name)") {
            try await storage.stepUp(
                .random(), of: seen, tokenHash: TokenSecret.hash(token) ?? [], method: .password,
                by: .system)
        }
        // What is read anew opens.
        let now = try #require(try await storage.operatorRow(fixture.id))
        #expect(now.version != seen.version, "\(name)")
        try await storage.startOperatorSession(
            now, tokenHash: TokenSecret.hash(token) ?? [], userAgent: nil, method: .totp,
            by: .system)
        #expect(try await fixture.send(.get, "/v1/session", as: token).status == 200, "\(name)")
    }

    @Test func `a removed passkey's sign-in in flight ends with it, and the tag changes each time`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        let storage = fixture.service.storage
        var tags: [Int] = []
        func note() async throws -> OperatorRow {
            let row = try #require(try await storage.operatorRow(person.id))
            #expect(!tags.contains(row.version), "\(tags.count)")
            tags.append(row.version)
            return row
        }
        _ = try await note()
        let (_, id) = try await fixture.registered(session)
        let seen = try await note()
        let made = try await fixture.send(.post, "/v1/me/recovery-codes", as: session)
        _ = try await note()
        let code = try #require(made.json["codes"]?.array?.first?.string)
        let used = try await fixture.service.send(
            .post, "/v1/session",
            json:
                #"{"email":"ann@operators.test","password":"long enough ann","recovery_code":"\#(code)"}"#
        )
        #expect(used.status == 201, "\(used.text)")
        _ = try await note()
        let path = "\(PasskeyFixture.path)/\(id)"
        #expect(try await fixture.send(.delete, path, as: session).status == 204)
        _ = try await note()
        await #expect(throws: StorageFailure.self) {
            try await storage.startOperatorSession(
                seen, tokenHash: SHA256.hash([1]), userAgent: nil, method: .passkey, by: .system)
        }
    }

    @Test func `recovery codes end with the last factor, though another came off meanwhile`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        let (_, id) = try await fixture.registered(session)
        let storage = fixture.service.storage
        let offered = try await fixture.send(.post, "/v1/me/totp", "{}", as: session)
        let app = try #require(TOTP(shown: offered.json["seed"]?.string ?? ""))
        let code = app.code(of: TOTP.step(at: fixture.clock.now.microseconds / 1_000_000))
        let confirmed = try await fixture.send(
            .post, "/v1/me/totp/confirm", #"{"code":"\#(code)"}"#, as: session)
        #expect(confirmed.status == 204, "\(confirmed.text)")
        #expect(try await fixture.send(.post, "/v1/me/recovery-codes", as: session).status == 201)
        // Both removals have read the operator before either acts.
        let seen = try #require(try await storage.operatorRow(person.id))
        let passkey = try #require(UUID(id))
        _ = try await storage.platformScope.change(by: .system) {
            try await $0.removePasskey(passkey, of: seen)
        }
        #expect(try await storage.operatorRow(person.id)?.factors.recoveryCodesLeft == 10)
        try await storage.platformScope.change(by: .system) { try await $0.removeTotp(of: seen) }
        #expect(try await storage.operatorRow(person.id)?.factors.recoveryCodesLeft == 0)
        await #expect(throws: StorageFailure.self) {
            try await storage.platformScope.change(by: .system) {
                _ = try await $0.makeRecoveryCodes(for: seen)
            }
        }
    }
}
