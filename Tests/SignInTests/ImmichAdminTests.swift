import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// The first admin, as the app's own tests know them, and what `users/me` changes.
@Suite(.cleansUp) struct ImmichAdminTests {
    private struct Fixture {
        static let mount = "/t/fresh/immich"
        let service: TestService
        let clock = TestClock()

        init(_ compat: String) async throws {
            let clock = clock
            service = try await TestService.make(clock: { clock.now })
            try await service.makeTenant("fresh")
            try await service.manage(
                .put, "/v1/tenants/fresh/clients/immich",
                #"{"enabled":true,"settings":{"admin_sign_up":true,"compat":"\#(compat)"}}"#)
        }

        func send(
            _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String = ""
        ) async throws -> TestAnswer {
            let fields = token.isEmpty ? [] : [Field("authorization", "Bearer \(token)")]
            return try await service.send(method, Self.mount + path, json: json, fields: fields)
        }

        func signIn(_ password: String = "correct horse battery") async throws -> TestAnswer {
            try await send(
                .post, "/api/auth/login",
                #"{"email":"admin@immich.cloud","password":"\#(password)"}"#)
        }
    }

    @Test(arguments: ["v2", "v3"])
    func `the first admin is in lower case, and must change the password first`(
        _ compat: String
    ) async throws {
        let fixture = try await Fixture(compat)
        let made = try await fixture.send(
            .post, "/api/auth/admin-sign-up",
            #"{"email":"aDmIn@IMMICH.cloud","password":"correct horse battery","name":"A"}"#)
        #expect(made.status == 201, "\(made.text)")
        func expectFresh(_ answer: TestAnswer, _ isFresh: Bool) {
            #expect(answer.json["email"]?.string == "admin@immich.cloud", "\(answer.text)")
            #expect(answer.json["shouldChangePassword"] == .bool(isFresh), "\(answer.text)")
            #expect(answer.json["storageLabel"]?.string == "admin", "\(answer.text)")
        }
        expectFresh(made, true)
        let login = try await fixture.signIn()
        let token = login.json["accessToken"]?.string ?? ""
        expectAnswer(
            login,
            #"{"accessToken":"\#(token)","userId":"\#(made.json["id"]?.string ?? "")","#
                + #""userEmail":"admin@immich.cloud","name":"A","isAdmin":true,"#
                + #""shouldChangePassword":true,"profileImagePath":"","isOnboarded":false}"#,
            status: 201)
        expectFresh(try await fixture.send(.get, "/api/users/me", token: token), true)
        // With the hint alone the password cannot be changed later without the old one.
        fixture.clock.advance(seconds: 600)
        expectError(
            try await fixture.send(
                .put, "/api/users/me", #"{"password":"another horse battery"}"#, token: token),
            400, "Sign in again to change the password")
        let changed = try await fixture.send(
            .post, "/api/auth/change-password",
            #"{"password":"correct horse battery","newPassword":"another horse battery"}"#,
            token: token)
        expectFresh(changed, false)
        let onboarding = "/api/users/me/onboarding"
        expectAnswer(
            try await fixture.send(.get, onboarding, token: token), #"{"isOnboarded":false}"#)
        expectAnswer(
            try await fixture.send(.put, onboarding, #"{"isOnboarded":true}"#, token: token),
            #"{"isOnboarded":true}"#)
        let again = try await fixture.signIn("another horse battery")
        #expect(again.json["shouldChangePassword"] == .bool(false), "\(again.text)")
        #expect(again.json["isOnboarded"] == .bool(true), "\(again.text)")
        expectFresh(
            try await fixture.send(
                .get, "/api/users/me", token: again.json["accessToken"]?.string ?? ""), false)
    }

    @Test func `PUT users me takes what it can do, all or nothing, and says what it cannot`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        func put(_ json: String) async throws -> TestAnswer {
            try await fixture.send(.put, "/api/users/me", json, token: token)
        }
        for (member, text) in [
            (#""email":null"#, "email must be a string"),
            (#""email":"no address""#, "email must be an email"),
            (
                #""email":"new@acme.example""#,
                "email can be changed only by an administrator of the server"
            ),
            (#""name":null"#, "name must be a string"),
            (#""name":"""#, "name should not be empty"), (#""name":7"#, "name must be a string"),
            (#""password":null"#, "password must be a string"),
            (
                #""avatarColor":"mauve""#,
                "avatarColor must be one of the following values: primary, pink, red, yellow, "
                    + "blue, green, purple, orange, gray, amber"
            ),
        ] {
            let name = member.hasPrefix(#""name"#) ? "" : #""name":"Half","#
            expectError(try await put("{\(name)\(member)}"), 400, text)
        }
        let before = try await fixture.send(.get, "/api/users/me", token: token)
        #expect(before.json["name"]?.string == "Ann", "\(before.text)")
        // The app sends its whole form, also what has not changed.
        let done = try await put(
            #"{"name":"Anna","email":"ANN@acme.example","avatarColor":"blue"}"#)
        #expect(done.status == 200, "\(done.text)")
        for answer in [done, try await fixture.send(.get, "/api/users/me", token: token)] {
            #expect(answer.json["name"]?.string == "Anna")
            #expect(answer.json["email"]?.string == "ann@acme.example")
            #expect(answer.json["avatarColor"]?.string == "blue")
        }
        let cleared = try await put(#"{"avatarColor":null}"#)
        #expect(cleared.json["avatarColor"]?.string == "primary", "\(cleared.text)")
    }

    @Test func `older apps get the faults of a body as a list`() async throws {
        let fixture = try await Fixture("v2")
        let answer = try await fixture.send(
            .post, "/api/auth/login", #"{"email":"no address","password":"x"}"#)
        #expect(answer.status == 400)
        #expect(
            answer.json["message"] == .array([.string("email must be an email")]),
            "\(answer.text)")
        #expect(answer.json["error"]?.string == "Bad Request")
    }

    @Test func `a user who signs out while suspended stays signed out after it`() async throws {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        let user = "/v1/tenants/acme/users/\(fixture.user.id)"
        _ = try await fixture.service.send(.post, "\(user)/suspend", as: .platformOwner)
        let out = try await fixture.send(.post, "/api/auth/logout", token: token)
        #expect(out.status == 200, "\(out.text)")
        _ = try await fixture.service.send(.post, "\(user)/resume", as: .platformOwner)
        #expect(try await fixture.send(.get, "/api/users/me", token: token).status == 401)
    }
}
