import HTTP
import JSON
import Synchronization
import TestSupport
import Testing
import Text

/// `/api/auth/github/…`: GitHub's device code through the broker.
@Suite(.cleansUp) struct DeepRecallDeviceTests {
    private static let code = "3584d83530557fdd1f46af8289938c8ef79f9dc5"
    private static let path = "/api/auth/github"
    /// The released app sends its own client id and scope; the document's sends its device.
    private static let released = #"{"client_id":"Ov23li","scope":"read:user user:email"}"#
    private static let documented = #"{"device_id":"\#(DeepRecallFixture.device)"}"#
    private static let asked =
        #"{"device_code":"\#(code)","device_id":"\#(DeepRecallFixture.device)"}"#
    private static let askedAsReleased =
        #"{"client_id":"Ov23li","device_code":"\#(code)","#
        + #""grant_type":"urn:ietf:params:oauth:grant-type:device_code"}"#

    @Test func `D3 a device code has the five members that the app needs`() async throws {
        let fixture = try await DeepRecallFixture.make()
        for body in [Self.released, Self.documented] {
            // One code is begun once.
            fixture.provider.set(
                "/gh/device",
                .init(
                    #"{"device_code":"code-\#(body.utf8.count)","user_code":"WDJB-MJHT","#
                        + #""verification_uri":"https://github.com/login/device","#
                        + #""expires_in":500,"interval":5}"#))
            let answer = try await fixture.send(.post, "\(Self.path)/device-code", body)
            expectAnswer(
                answer,
                #"{"device_code":"code-\#(body.utf8.count)","user_code":"WDJB-MJHT","#
                    + #""verification_uri":"https://github.com/login/device","#
                    + #""expires_in":500,"interval":5}"#)
        }
        for body in ["{}", #"{"client_id":""}"#] {
            expectOnlyError(
                try await fixture.send(.post, "\(Self.path)/device-code", body), 400,
                "client_id is required")
        }
        fixture.provider.set("/gh/device", .init(status: 503, "no"))
        expectOnlyError(
            try await fixture.send(.post, "\(Self.path)/device-code", Self.released), 503,
            "Failed to request device code from GitHub")
    }

    @Test func `D4b the released app asks until GitHub grants, and exchanges the token`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("octo@acme.example")
        _ = try await fixture.send(.post, "\(Self.path)/device-code", Self.released)
        func ask() async throws -> TestAnswer {
            fixture.clock.advance(seconds: 5)
            return try await fixture.send(.post, "\(Self.path)/device-token", Self.askedAsReleased)
        }
        for error in ["authorization_pending", "slow_down"] {
            fixture.refuse(error)
            expectOnlyError(try await ask(), 200, error)
        }
        fixture.provider.set("/gh/token", .init(status: 502, "no"))
        expectOnlyError(try await ask(), 503, "Failed to poll GitHub for token")
        fixture.grant()
        let granted = try await ask()
        expectAnswer(
            granted,
            #"{"access_token":"gho_1","token_type":"bearer","scope":"read:user,user:email"}"#)
        // A code is good once.
        expectOnlyError(try await ask(), 200, "expired_token")
        let done = try await fixture.exchange(
            "github", #"{"access_token":"gho_1","device_id":"mobile-1-a"}"#)
        #expect(done.status == 200, "\(done.text)")
    }

    @Test
    func `D4a D4b a denied, an expired and an unknown device code get their errors`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        for (told, error) in [
            ("access_denied", "access_denied"), ("expired_token", "expired_token"),
            ("incorrect_device_code", "expired_token"),
        ] {
            _ = try await fixture.send(.post, "\(Self.path)/device-code", Self.released)
            fixture.refuse(told)
            for expected in [error, "expired_token"] {
                expectOnlyError(
                    try await fixture.send(
                        .post, "\(Self.path)/device-token", Self.askedAsReleased), 200, expected)
            }
            expectOnlyError(
                try await fixture.send(.post, "\(Self.path)/poll", Self.asked), 400, "expired_token"
            )
        }
        for body in [
            "{}", #"{"client_id":"a"}"#, #"{"device_code":"a"}"#,
        ] {
            expectOnlyError(
                try await fixture.send(.post, "\(Self.path)/device-token", body), 400,
                "client_id and device_code are required")
            expectOnlyError(
                try await fixture.send(.post, "\(Self.path)/poll", body), 400,
                "Missing device_code or device_id")
        }
    }

    @Test func `D4a one long question is answered when the person has decided`() async throws {
        let pauses = Mutex<[Duration]>([])
        let fixture = try await DeepRecallFixture.make { provider, pause in
            let count = pauses.withLock { pauses in
                pauses.append(pause)
                return pauses.count
            }
            let answer = count == 1 ? #"{"error":"slow_down"}"# : #"{"access_token":"gho_1"}"#
            provider.set("/gh/token", .init(answer))
        }
        try await fixture.invite("octo@acme.example")
        _ = try await fixture.send(.post, "\(Self.path)/device-code", Self.documented)
        fixture.refuse("authorization_pending")
        let answer = try await fixture.send(.post, "\(Self.path)/poll", Self.asked)
        #expect(pauses.withLock { $0 } == [.seconds(5), .seconds(10)])
        let token = answer.json["app_jwt"]?.string ?? ""
        let id = answer.json["user"]?["id"]?.string ?? ""
        expectAnswer(
            answer,
            #"{"app_jwt":"\#(token)","user":{"id":"\#(id)","provider":"github","#
                + #""email":"octo@acme.example","name":"octo"}}"#)
        try await fixture.expectSigned(token, type: "at+jwt")
        let claims = try fixture.payload(token)
        #expect(claims["deviceId"]?.string == DeepRecallFixture.device)
    }

    @Test func `D4a a person who does not decide leaves it pending after 55 seconds`() async throws
    {
        let waited = Mutex(Duration.zero)
        let fixture = try await DeepRecallFixture.make { _, pause in waited.withLock { $0 += pause }
        }
        _ = try await fixture.send(.post, "\(Self.path)/device-code", Self.documented)
        fixture.refuse("authorization_pending")
        expectOnlyError(
            try await fixture.send(.post, "\(Self.path)/poll", Self.asked), 400,
            "authorization_pending")
        #expect(waited.withLock { $0 } == .seconds(55))
        fixture.clock.advance(seconds: 5)
        // The earlier release asks at a path of its own and waits by itself.
        expectOnlyError(
            try await fixture.send(.post, "\(Self.path)/mobile", Self.asked), 400,
            "authorization_pending")
        #expect(waited.withLock { $0 } == .seconds(55))
        // Another device learns nothing of this one's code.
        let other = Self.asked.replacing(DeepRecallFixture.device, with: "other")
        expectOnlyError(
            try await fixture.send(.post, "\(Self.path)/poll", other), 400, "expired_token")
    }

    @Test func `GitHub is asked about one code as often as it allows, for all callers together`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        let replicas = [nil, try fixture.service.replica()]
        _ = try await fixture.send(.post, "\(Self.path)/device-code", Self.released)
        fixture.refuse("authorization_pending")
        for round in 1...3 {
            var answers: [String: Int] = [:]
            for number in 0..<10 {
                let answer = try await fixture.service.send(
                    .post, "/t/acme/deeprecall\(Self.path)/device-token",
                    json: Self.askedAsReleased, from: "192.0.2.\(number)",
                    to: replicas[number % 2])
                answers[answer.json["error"]?.string ?? answer.text, default: 0] += 1
            }
            #expect(answers == ["authorization_pending": 1, "slow_down": 9])
            #expect(fixture.provider.fetches(of: "/gh/token") == round)
            fixture.clock.advance(seconds: 5)
        }
    }

    @Test func `one address begins 30 device sign-ins a minute, on all replicas together`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        fixture.clock.startMinute()
        let replicas = [nil, try fixture.service.replica()]
        func begin(_ number: Int, from address: String) async throws -> TestAnswer {
            fixture.provider.set(
                "/gh/device",
                .init(
                    #"{"device_code":"c\#(number)","user_code":"WDJB","#
                        + #""verification_uri":"https://github.com/login/device"}"#))
            return try await fixture.service.send(
                .post, "/t/acme/deeprecall\(Self.path)/device-code", json: Self.released,
                from: address, to: replicas[number % 2])
        }
        for number in 0..<30 {
            #expect(try await begin(number, from: "192.0.2.1").status == 200)
        }
        let asked = fixture.provider.fetches(of: "/gh/device")
        let held = try await begin(30, from: "192.0.2.1")
        #expect(held.status == 429 && held.first("retry-after") == "60", "\(held.text)")
        #expect(fixture.provider.fetches(of: "/gh/device") == asked)
        #expect(try await begin(31, from: "192.0.2.2").status == 200)
        fixture.clock.advance(seconds: 60)
        #expect(try await begin(32, from: "192.0.2.1").status == 200)
    }
}
