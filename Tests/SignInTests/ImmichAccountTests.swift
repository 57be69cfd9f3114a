import API
import Cryptography
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ImmichAccountTests {
    @Test func `I12 a password is changed with the old one, which ends every other session`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let (token, other) = (try await fixture.token(), try await fixture.token())
        let path = "/api/auth/change-password"
        let next = "staple battery horse"
        expectError(
            try await fixture.send(
                .post, path, #"{"password":"wrong","newPassword":"\#(next)"}"#, token: token),
            400, "Wrong password")
        expectError(
            try await fixture.send(
                .post, path,
                #"{"password":"\#(ImmichFixture.password)","newPassword":"short"}"#, token: token),
            400, "The password must have at least 15 characters.")
        expectError(
            try await fixture.send(
                .post, path,
                #"{"password":"\#(ImmichFixture.password)","newPassword":"passwordpassword"}"#,
                token: token),
            400, "The password is too easy to guess; choose another.")
        let changed = try await fixture.send(
            .post, path, #"{"password":"\#(ImmichFixture.password)","newPassword":"\#(next)"}"#,
            token: token)
        expectAnswer(changed, try await fixture.wholeUser(of: fixture.user.id.description))
        #expect(try await fixture.send(.get, "/api/users/me", token: token).status == 200)
        expectError(
            try await fixture.send(.get, "/api/users/me", token: other), 401, "Invalid user token")
        #expect(try await fixture.signIn().status == 401)
        #expect(try await fixture.signIn(next).status == 201)
    }

    @Test func `I12 other sessions stay where the person wants that, and go where they do not`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let path = "/api/auth/change-password"
        let token = try await fixture.token()
        var old = ImmichFixture.password
        for (flag, new, status) in [
            ("false", "staple battery horse", 200), ("true", "battery staple horse", 401),
        ] {
            let other = try await fixture.send(
                .post, "/api/auth/login", #"{"email":"ann@acme.example","password":"\#(old)"}"#,
                fields: ImmichFixture.device
            ).json["accessToken"]?.string
            let changed = try await fixture.send(
                .post, path,
                #"{"password":"\#(old)","newPassword":"\#(new)","invalidateSessions":\#(flag)}"#,
                token: token)
            #expect(changed.status == 200, "\(changed.text)")
            let me = try await fixture.send(.get, "/api/users/me", token: other)
            #expect(me.status == status, "\(flag)")
            #expect(try await fixture.send(.get, "/api/users/me", token: token).status == 200)
            old = new
        }
        let input = #"{"password":"\#(old)","newPassword":"a good new password","#
        expectError(
            try await fixture.send(
                .post, path, input + #""invalidateSessions":"no"}"#, token: token),
            400, "invalidateSessions must be a boolean value")
        for (body, text) in [
            (#"{"newPassword":"x"}"#, "password must be a string"),
            (#"{"password":"x"}"#, "newPassword must be a string"),
            (#"{"password":"","newPassword":"x"}"#, "password should not be empty"),
        ] {
            expectError(try await fixture.send(.post, path, body, token: token), 400, text)
        }
        expectError(try await fixture.send(.post, path, "{}"), 401, "Authentication required")
    }

    @Test func `I12 without the old password only a fresh session may set a new one`() async throws
    {
        let fixture = try await ImmichFixture.make(settings: #"{"compat":"v2"}"#)
        let token = try await fixture.token()
        let fresh = try await fixture.send(
            .put, "/api/auth/change-password", #"{"password":"8letters"}"#, token: token)
        let id = fixture.user.id.description
        expectAnswer(fresh, try await fixture.wholeUser(of: id, generation: "v2"))
        // What the released mobile app really sends.
        let own = try await fixture.send(
            .put, "/api/users/me", #"{"password":"9letters9"}"#, token: token)
        expectAnswer(own, try await fixture.wholeUser(of: id, generation: "v2"))
        #expect(try await fixture.signIn("9letters9").status == 201)
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            _ = try await change.query(
                """
                UPDATE sessions SET created_at = \(change.now.adding(seconds: -300))
                WHERE tenant_id = \(fixture.tenant.id)
                """)
        }
        for path in ["/api/auth/change-password", "/api/users/me"] {
            let late = try await fixture.send(
                .put, path, #"{"password":"another1"}"#, token: token)
            expectError(late, 400, "Sign in again to change the password")
        }
    }

    @Test func `I6 I10 I12 a password that an operator chose is changed whenever the person wants`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ImmichFixture.make(clock: clock)
        let id = fixture.user.id
        let chosen = try await fixture.service.composition.application.passwords.hash(
            Array("chosen by the operator".utf8))
        _ = try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) {
            try await $0.setPassword(chosen, of: id, keeping: .none, mustChange: true)
        }
        let answer = try await fixture.signIn("chosen by the operator")
        #expect(answer.json["shouldChangePassword"] == .bool(true), "\(answer.text)")
        let token = answer.json["accessToken"]?.string
        expectAnswer(
            try await fixture.send(.get, "/api/users/me", token: token),
            try await fixture.wholeUser(of: id.description, mustChange: true))
        clock.advance(seconds: 600)
        let changed = try await fixture.send(
            .put, "/api/auth/change-password", #"{"password":"staple battery horse"}"#,
            token: token)
        expectAnswer(changed, try await fixture.wholeUser(of: id.description))
        expectError(
            try await fixture.send(
                .put, "/api/auth/change-password", #"{"password":"horse battery staple"}"#,
                token: token), 400, "Sign in again to change the password")
    }

    @Test func `I13 a PIN is set, verified, changed and removed, and a wrong one is never 401`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ImmichFixture.make(clock: clock)
        let token = try await fixture.token()
        let end = "\(clock.now.adding(seconds: 34_560_000))"
        func expectStatus(pin: Bool, isElevated: Bool, until: String = "") async throws {
            let until = until.isEmpty ? "" : #","pinExpiresAt":"\#(until)""#
            expectDate(.string(end))
            expectAnswer(
                try await fixture.send(.get, "/api/auth/status", token: token),
                #"{"pinCode":\#(pin),"password":true,"isElevated":\#(isElevated),"#
                    + #""expiresAt":"\#(end)"\#(until)}"#)
        }
        try await expectStatus(pin: false, isElevated: false)
        func pin(
            _ method: HTTP.Method, _ path: String, _ body: String?
        ) async throws -> TestAnswer {
            try await fixture.send(method, "/api/auth/\(path)", body, token: token)
        }
        expectError(
            try await pin(.post, "pin-code/verify", #"{"pinCode":"1234"}"#), 400,
            "User does not have a PIN code")
        expectEmpty(try await pin(.put, "pin-code", #"{"pinCode":"1234"}"#), 204)
        expectError(
            try await pin(.post, "pin-code", #"{"pinCode":"123456"}"#), 400,
            "User already has a PIN code")
        expectError(
            try await pin(.post, "pin-code/verify", #"{"pinCode":"9999"}"#), 400,
            "Wrong PIN code")
        try await expectStatus(pin: true, isElevated: false)
        expectEmpty(try await pin(.post, "session/unlock", #"{"pinCode":"1234"}"#), 204)
        try await expectStatus(
            pin: true, isElevated: true, until: "\(clock.now.adding(seconds: 900))")
        clock.advance(seconds: 900)
        try await expectStatus(pin: true, isElevated: false)
        expectEmpty(try await pin(.post, "session/unlock", #"{"pinCode":"1234"}"#), 204)
        expectEmpty(try await pin(.post, "session/lock", nil), 204)
        try await expectStatus(pin: true, isElevated: false)
        expectError(
            try await pin(.put, "pin-code", #"{"pinCode":"9999","newPinCode":"123456"}"#), 400,
            "Wrong PIN code")
        expectEmpty(
            try await pin(.put, "pin-code", #"{"pinCode":"1234","newPinCode":"123456"}"#), 204)
        let byPassword = #"{"password":"\#(ImmichFixture.password)","newPinCode":"12345678"}"#
        expectEmpty(try await pin(.put, "pin-code", byPassword), 204)
        expectEmpty(try await pin(.post, "pin-code/verify", #"{"pinCode":"12345678"}"#), 204)
        expectError(
            try await pin(.delete, "pin-code", "{}"), 400,
            "Either password or pinCode is required")
        expectError(
            try await pin(.delete, "pin-code", #"{"password":"wrong"}"#), 400, "Wrong password")
        let body = #"{"password":"\#(ImmichFixture.password)"}"#
        expectEmpty(try await pin(.delete, "pin-code", body), 204)
        for (method, path) in [
            (HTTP.Method.delete, "pin-code"), (.put, "pin-code"), (.post, "session/unlock"),
        ] {
            expectError(
                try await pin(method, path, #"{"pinCode":"1234","newPinCode":"4321"}"#), 400,
                "User does not have a PIN code")
        }
        for text in ["12a4", "123", "123456789", "", "１２３４"] {
            for (method, path) in [
                (HTTP.Method.post, "pin-code"), (.put, "pin-code"), (.post, "pin-code/verify"),
                (.post, "session/unlock"),
            ] {
                expectError(
                    try await pin(method, path, #"{"pinCode":"\#(text)"}"#), 400,
                    "pinCode must be 4 to 8 digits")
            }
        }
        expectEmpty(try await pin(.post, "pin-code", #"{"pinCode":"12345678"}"#), 204)
        expectEmpty(try await pin(.delete, "pin-code", #"{"pinCode":"12345678"}"#), 204)
        for (method, path) in [
            (HTTP.Method.post, "pin-code"), (.put, "pin-code"), (.delete, "pin-code"),
            (.post, "pin-code/verify"), (.post, "session/unlock"), (.post, "session/lock"),
            (.get, "status"),
        ] {
            expectError(
                try await fixture.send(method, "/api/auth/\(path)", method == .get ? nil : "{}"),
                401,
                "Authentication required")
        }
    }

    @Test func `strangers' guesses hold strangers back, not the owner's device`() async throws {
        let fixture = try await ImmichFixture.make()
        #expect(try await fixture.signIn().status == 201)
        let stranger = [Field("devicemodel", "curl")]
        var statuses: [Int] = []
        for _ in 0..<8 {
            statuses.append(try await fixture.signIn("guess", fields: stranger).status)
        }
        #expect(statuses.prefix(4) == [401, 401, 401, 401])
        #expect(statuses.last == 429)
        let locked = try await fixture.signIn(fields: stranger)
        #expect(locked.status == 429 && locked.first("retry-after") != nil)
        #expect(try await fixture.signIn().status == 201)
        let unknown = { (name: String) in
            try await fixture.send(
                .post, "/api/auth/login", #"{"email":"\#(name)@acme.example","password":"x"}"#,
                fields: stranger
            ).status
        }
        for _ in 0..<5 { _ = try await unknown("nobody") }
        #expect(try await unknown("nobody") == 429)
    }
}
