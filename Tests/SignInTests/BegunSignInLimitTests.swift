import HTTP
import JSON
import TestSupport
import Testing

/// Sign-ins that were begun cost a row or a question each, so a minute has a limit of them; ten
/// addresses that use it up do not close a client to others.
@Suite(.cleansUp) struct BegunSignInLimitTests {
    /// As many calls from one address as are made at a time.
    private static let width = 15

    /// How often each status came.
    private static func counted(
        _ count: Int, _ call: @escaping @Sendable (Int) async throws -> Int
    ) async throws -> [Int: Int] {
        var statuses: [Int: Int] = [:]
        for start in stride(from: 0, to: count, by: width) {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in start..<min(start + width, count) {
                    group.addTask { try await call(number) }
                }
                for try await status in group { statuses[status, default: 0] += 1 }
            }
        }
        return statuses
    }

    @Test func `3,000 begun sign-ins from ten addresses leave an eleventh its own`() async throws {
        let clock = TestClock()
        clock.startMinute()
        let fixture = try await ImmichOAuthFixture.make(clock: clock)
        let service = fixture.base.service
        let path =
            "/t/acme/immich/api/oauth/authorize?code_challenge_method=S256&code_challenge="
            + ImmichOAuthFixture.challenge
        @Sendable func begin(_ state: String, from address: String) async throws -> Int {
            try await service.send(.get, "\(path)&state=\(state)", from: address).status
        }
        for address in 1...10 {
            let statuses = try await Self.counted(300) {
                try await begin("state-\(address)-\($0)", from: "198.51.100.\(address)")
            }
            #expect(statuses == [200: 300], "address \(address)")
        }
        // Each of the ten had its share.
        #expect(try await begin("state-more-1", from: "198.51.100.1") == 429)
        let others = try await Self.counted(40) {
            try await begin("state-eleven-\($0)", from: "192.0.2.1")
        }
        #expect(others == [200: 30, 429: 10])
        clock.advance(seconds: 60)
        #expect(try await begin("state-more-2", from: "198.51.100.1") == 200)
    }

    @Test func `300 begun sign-ins by device from ten addresses leave an eleventh its own`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        fixture.clock.startMinute()
        let answer =
            #","user_code":"WDJB-MJHT","#
            + #""verification_uri":"https://github.com/login/device"}"#
        @Sendable func begin(_ name: String, from address: String) async throws -> Int {
            fixture.provider.set("/gh/device", .init(#"{"device_code":"\#(name)""# + answer))
            return try await fixture.service.send(
                .post, "/t/acme/deeprecall/api/auth/github/device-code",
                json: #"{"device_id":"\#(DeepRecallFixture.device)"}"#, from: address
            ).status
        }
        for address in 1...10 {
            var statuses: [Int: Int] = [:]
            for number in 0..<31 {
                let name = "code-\(address)-\(number)"
                let status = try await begin(name, from: "198.51.100.\(address)")
                statuses[status, default: 0] += 1
            }
            #expect(statuses == [200: 30, 429: 1], "address \(address)")
        }
        for number in 0..<4 {
            let status = try await begin("code-eleven-\(number)", from: "192.0.2.1")
            #expect(status == (number < 3 ? 200 : 429))
        }
    }
}
