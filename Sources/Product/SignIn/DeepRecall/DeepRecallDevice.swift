import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// Signing in at GitHub on a device without a browser (RFC 8628): the broker polls GitHub, which
/// answers no page of another origin.
enum DeepRecallDevice {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/github/device-code") { try await begin($0) },
        ContractRoute(.post, "/api/auth/github/device-token") { try await token($0) },
        ContractRoute(.post, "/api/auth/github/poll", time: .seconds(longestWait + 4)) { call in
            try await end(call, waiting: longestWait)
        },
        // The released apps poll under this name, at their own interval.
        ContractRoute(.post, "/api/auth/github/mobile") { try await end($0, waiting: 0) },
    ]

    /// Seconds; below the minute after which the apps give up.
    private static let longestWait = 55
    /// Seconds between two polls, as GitHub requires; `slow_down` adds as many.
    private static let interval = 5

    private static func begin(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let device = DeepRecall.text(input, "device_id")
        guard device != nil || DeepRecall.text(input, "client_id") != nil else {
            throw DeepRecall.bad("client_id is required")
        }
        guard device.map(DeepRecall.isDevice) ?? true else {
            throw DeepRecall.bad("Invalid device_id")
        }
        let code: DeviceCode
        do {
            code = try await call.beginDeviceLogin(device: device)
        } catch SignInRefusal.providerAway {
            throw DeepRecall.away("Failed to request device code from GitHub")
        }
        return .ok(
            .object([
                .init("device_code", .string(code.deviceCode)),
                .init("user_code", .string(code.userCode)),
                .init("verification_uri", .string(code.verificationURI)),
                .init("expires_in", .int(code.expiresIn)), .init("interval", .int(code.interval)),
            ]))
    }

    /// As GitHub itself answers: 200 whatever the user decided.
    private static func token(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        guard DeepRecall.text(input, "client_id") != nil,
            let code = DeepRecall.text(input, "device_code")
        else { throw DeepRecall.bad("client_id and device_code are required") }
        switch try await poll(call, code, device: nil) {
        case .granted(let token, _):
            return .ok(
                .object([
                    .init("access_token", .string(token)), .init("token_type", .string("bearer")),
                    .init("scope", .string("read:user,user:email")),
                ]))
        case .pending(let error), .over(let error):
            return .ok(.object([.init("error", .string(error))]))
        }
    }

    /// Waits up to so many seconds for the user's decision; then 400 with GitHub's error.
    private static func end(_ call: ClientCall, waiting: Int) async throws -> Response {
        let input = try call.object()
        guard let code = DeepRecall.text(input, "device_code"),
            let device = DeepRecall.text(input, "device_id")
        else { throw DeepRecall.bad("Missing device_code or device_id") }
        guard DeepRecall.isDevice(device) else { throw DeepRecall.bad("Invalid device_id") }
        let end = call.core.database.clock().adding(seconds: Int64(waiting))
        var waited = 0
        var pause = interval
        while true {
            switch try await poll(call, code, device: device) {
            case .granted(let token, let begunAt):
                let person = try await call.person(grantedGitHubToken: token, begunAt: begunAt)
                return try await DeepRecallExchange.begin(call, of: person, device)
                    .answer(namesActor: false)
            case .over(let error): throw DeepRecall.bad(error)
            case .pending(let error):
                if error == "slow_down" { pause += interval }
                guard waited + pause <= waiting,
                    call.core.database.clock().adding(seconds: Int64(pause)) <= end
                else { throw DeepRecall.bad(waiting == 0 ? error : "authorization_pending") }
                try await call.core.pause(.seconds(pause))
                waited += pause
            }
        }
    }

    /// A code that was not begun here, has expired or was used reads as expired.
    private static func poll(
        _ call: ClientCall, _ code: String, device: String?
    ) async throws -> DevicePoll {
        do {
            return try await call.pollDevice(code, device: device)
        } catch SignInRefusal.stateUnknown {
            return .over("expired_token")
        } catch SignInRefusal.providerAway {
            throw DeepRecall.away("Failed to poll GitHub for token")
        }
    }
}
