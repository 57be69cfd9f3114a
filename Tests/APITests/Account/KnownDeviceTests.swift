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

/// Nobody is shut out of a browser that they use by what others try.
@Suite(.cleansUp) struct KnownDeviceTests {
    private static let home = "192.0.2.1"

    @Test func `a sign-in leaves a cookie that names the browser, and keeps the one it has`()
        async throws
    {
        let fixture = try await OperatorFixture.make()
        let body =
            #"{"email":"\#(OperatorFixture.email)","password":"\#(OperatorFixture.password)"}"#
        let first = try await fixture.service.send(.post, "/v1/session", json: body)
        let set = try #require(
            first.response.fields.first {
                $0.name == "set-cookie" && $0.value.hasPrefix("gatehouse-device=")
            }?.value)
        #expect(set.hasSuffix("; Max-Age=7776000; Path=/; HttpOnly; SameSite=Strict"), "\(set)")
        let pair = String(set.prefix { $0 != ";" })
        let again = try await fixture.service.send(
            .post, "/v1/session", json: body, fields: [Field("cookie", pair)])
        #expect(again.response.fields.contains { $0.name == "set-cookie" && $0.value == set })
        let rows = try await fixture.service.storage.app.query(
            "SELECT device_hash FROM operator_devices")
        #expect(rows.count == 1)
        let token = String(pair.dropFirst("gatehouse-device=".count))
        #expect(try rows[0].get(0, as: [UInt8].self) == TokenSecret.hash(token), "a hash alone")
        // Signing out leaves it: the browser is known the next time.
        let session = try #require(OperatorFixture.cookie(of: first))
        let out = try await fixture.send(.delete, "/v1/session", as: session)
        #expect(out.first("clear-site-data") == #""cache", "storage""#)
        // Nonsense is no cookie of ours.
        let odd = try await fixture.service.send(
            .post, "/v1/session", json: body, fields: [Field("cookie", "gatehouse-device=x")])
        #expect(
            odd.response.fields.contains {
                $0.name == "set-cookie" && $0.value.hasPrefix("gatehouse-device=")
                    && !$0.value.contains("=x;")
            })
    }

    @Test func `wrong passwords from the own address lock out only unknown browsers`() async throws
    {
        let fixture = try await OperatorFixture.make()
        _ = try await fixture.signedIn()
        for number in 0..<60 {
            _ = try await fixture.service.send(
                .post, "/v1/session",
                json: #"{"email":"\#(OperatorFixture.email)","password":"wrong \#(number)"}"#,
                from: Self.home)
        }
        let stranger = try await fixture.service.send(
            .post, "/v1/session",
            json: #"{"email":"\#(OperatorFixture.email)","password":"x"}"#, from: Self.home)
        #expect(stranger.status == 429)
        #expect(try await fixture.signIn(from: Self.home).status == 201)
        // The known browser has a bound of its own.
        for _ in 0..<5 { #expect(try await fixture.signIn("wrong").status == 401) }
        #expect(try await fixture.signIn().status == 429)
    }

    @Test func `wrong codes after the right password do not lock a known browser`() async throws {
        let fixture = try await OperatorFixture.make()
        let app = try await fixture.withApp()
        for number in 0..<8 {
            let answer = try await fixture.signIn(
                OperatorFixture.password, #","totp":"000000""#, from: "198.51.100.\(number)")
            #expect(answer.status == (number < 5 ? 401 : 429), "\(answer.text)")
        }
        let own = try await fixture.signIn(
            OperatorFixture.password, #","totp":"\#(fixture.code(app))""#)
        #expect(own.status == 201, "\(own.text)")
        // Nor is a step-up there held back.
        fixture.clock.advance(seconds: 30)
        let session = try #require(OperatorFixture.cookie(of: own))
        let body = #"{"totp":"\#(fixture.code(app))"}"#
        let stepUp = try await fixture.stepUp(session, body)
        #expect(stepUp.status == 200, "\(stepUp.text)")
    }

    @Test func `a right code resets the counter`() async throws {
        let fixture = try await OperatorFixture.make()
        let app = try await fixture.withApp()
        for round in 0..<3 {
            for _ in 0..<4 {
                let wrong = try await fixture.signIn(OperatorFixture.password, #","totp":"000000""#)
                #expect(wrong.status == 401, "\(round): \(wrong.text)")
            }
            _ = try await fixture.signedIn(#","totp":"\#(fixture.code(app))""#)
            fixture.clock.advance(seconds: 30)
        }
    }

    @Test func `wrong passkeys from one's own address lock no known browser out`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session)
        let device = OperatorFixture.device("laptop")
        #expect(try await fixture.signIn(&passkey, device: device).status == 201)
        var wrong = passkey
        wrong.handle = [1]
        for _ in 0..<51 { _ = try await fixture.signIn(&wrong) }
        #expect(try await fixture.signIn(&passkey).status == 429)
        #expect(try await fixture.signIn(&passkey, device: device).status == 201)
        for number in 0..<10 {
            let answer = try await fixture.signIn(&wrong, device: device)
            #expect(answer.status == 401, "\(number)")
        }
        #expect(try await fixture.signIn(&passkey, device: device).status == 429)
    }

    @Test func `an own new password leaves known the browser alone in which it was set`()
        async throws
    {
        let fixture = try await OperatorFixture.make()
        let session = try await fixture.signedIn()
        _ = try await fixture.signIn(from: "198.51.100.66")
        func isKnown(_ name: String) async throws -> Bool {
            let token = Base64URL.encode(SHA256.hash(Array(name.utf8)))
            return try await fixture.service.storage.isKnownDevice(
                TokenSecret.hash(token) ?? [], of: fixture.id)
        }
        #expect(try await isKnown("198.51.100.66"))
        let set = try await fixture.send(
            .put, "/v1/me/password", #"{"password":"a quite different password"}"#, as: session)
        #expect(set.status == 204, "\(set.text)")
        #expect(try await isKnown("192.0.2.1"))
        #expect(try await !isKnown("198.51.100.66"))
    }

    @Test func `twenty browsers are known, for 90 days, and by the one operator`() async throws {
        let fixture = try await OperatorFixture.make()
        let storage = fixture.service.storage
        let other = try await storage.createOperator(
            email: "b@door.example", emailKey: "b@door.example", name: nil, role: .admin,
            tenant: nil, passwordHash: nil, by: .system)
        func isKnown(_ name: String, _ id: UUID) async throws -> Bool {
            let token = Base64URL.encode(SHA256.hash(Array(name.utf8)))
            return try await storage.isKnownDevice(TokenSecret.hash(token) ?? [], of: id)
        }
        for number in 0...20 {
            #expect(try await fixture.signIn(from: "198.51.100.\(number)").status == 201)
            fixture.clock.advance(seconds: 60)
        }
        #expect(try await !isKnown("198.51.100.0", fixture.id))
        #expect(try await isKnown("198.51.100.1", fixture.id))
        #expect(try await !isKnown("198.51.100.1", other.id))
        fixture.clock.advance(seconds: 90 * 86_400 - 60)
        #expect(try await !isKnown("198.51.100.20", fixture.id))
        _ = try await storage.sweep { _, _ in }
        #expect(try await storage.app.query("SELECT 1 FROM operator_devices").isEmpty)
    }
}
