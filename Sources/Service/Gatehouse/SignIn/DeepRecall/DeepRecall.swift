import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The server that a DeepRecall app expects as its broker: it exchanges a provider's token for an
/// access token of ours. The app's works, assets and annotations are not served here.
enum DeepRecall {
    static let contract = Contract(
        name: "deeprecall",
        providerKinds: ["google"],
        settings: [
            .optional(
                "replication_audience", .string(min: 1, max: 255),
                "The audience of the replication token; `electric` if absent."),
            .optional(
                "replication_url", .string(min: 1, max: 2048),
                "The URL of the service that replicates the person's data."),
            .optional(
                "replication_source", .string(min: 1, max: 255),
                "The id of the source at the replication service."),
        ],
        routes: DeepRecallExchange.routes + DeepRecallDevice.routes + DeepRecallAccount.routes
            + DeepRecallLinks.routes,
        encode: encode, explain: explain)

    /// Returns a refusal as `{"error": …}`. The refusal of a preflight (OPTIONS) is plain text
    /// instead.
    private static func encode(_ problem: Problem, _ request: Request) -> Response {
        guard request.method == .options else { return problem.plainError }
        var answer = Response(
            problem.status, type: "text/plain; charset=utf-8", Array(problem.detail.utf8))
        answer.fields += problem.fields
        return answer
    }

    private static func explain(_ refusal: SignInRefusal) -> Problem? {
        switch refusal {
        case .noCredential, .invalidToken, .invalidKey:
            Problem(.unauthorized, "Authentication required")
        case .notProved, .secretOutdated, .signedOut: Problem(.unauthorized, exchangeFailed)
        case .providerAway: away(exchangeFailed)
        default: nil
        }
    }

    static let exchangeFailed = "Token exchange failed"

    static func bad(_ text: String) -> Problem { Problem(.invalidRequest, text) }

    /// Returns the refusal 503 with this text, for a provider that is unavailable.
    static func away(_ text: String) -> Problem {
        Problem(.unavailable, text, fields: [Field("retry-after", "5")])
    }

    /// Returns the text of a member; `nil` if it is absent, empty or not a text.
    static func text(_ input: Input, _ name: String) -> String? {
        input.optionalString(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether the text can be the app's own id of its device. The app sends a UUID, or `mobile-`
    /// with numbers.
    static func isDevice(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

/// The exchange of a provider's token for an access token of ours.
enum DeepRecallExchange {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/exchange/google") { call in
            let (token, device) = try sent(call, "id_token")
            return try await Contract.mappingServerErrors(DeepRecall.exchangeFailed) {
                let person = try await call.person(idToken: token, kind: .google)
                return try await begin(call, of: person, device).answer(namesActor: true)
            }
        },
        ContractRoute(.post, "/api/auth/exchange/github") { call in
            let (token, device) = try sent(call, "access_token")
            return try await Contract.mappingServerErrors(DeepRecall.exchangeFailed) {
                let person = try await call.ownGitHubPerson(token)
                return try await begin(call, of: person, device).answer(namesActor: true)
            }
        },
    ]

    /// The lifetime of an access token in seconds: six hours.
    private static let lifetime = 21_600

    private static func sent(
        _ call: ClientCall, _ name: String
    ) throws -> (token: String, device: String) {
        let input = try call.object()
        guard let token = DeepRecall.text(input, name),
            let device = DeepRecall.text(input, "device_id")
        else { throw DeepRecall.bad("Missing \(name) or device_id") }
        guard DeepRecall.isDevice(device) else { throw DeepRecall.bad("Invalid device_id") }
        return (token, device)
    }

    /// Lets the rules identify the user, begins a session, and returns its access token. The
    /// token's payload has the members that the app reads.
    static func begin(
        _ call: ClientCall, of person: ProvedPerson, _ device: String
    ) async throws -> Begun {
        let user = try await call.admit(person)
        let provider = person.provider.kind
        let token = try await call.startTokenSession(
            of: user.id, .oauth, ReportedDevice(id: device),
            seconds: call.tokenSeconds(default: lifetime)
        ) { user in
            [
                .init("userId", .string(user.id.description)), .init("email", .string(user.email)),
                .init("name", .string(user.name ?? user.email)), .init("deviceId", .string(device)),
                .init("provider", .string(provider)),
            ]
        }
        return Begun(token: token, provider: provider)
    }

    struct Begun: Sendable {
        var token: IssuedToken
        var provider: String

        func answer(namesActor: Bool) -> Response {
            let id = token.user.id.description
            var members: [JSONValue.Member] = [.init("app_jwt", .string(token.text))]
            if namesActor { members.append(.init("actor_uid", .string(id))) }
            members.append(
                .init(
                    "user",
                    .object([
                        .init("id", .string(id)), .init("provider", .string(provider)),
                        .init("email", .string(token.user.email)),
                        .init("name", .string(token.user.name ?? token.user.email)),
                    ])))
            return .ok(.object(members))
        }
    }
}

extension ClientCall {
    /// Returns the owner of a GitHub token. Every invalid token gives the same text.
    fileprivate func ownGitHubPerson(_ token: String) async throws -> ProvedPerson {
        do {
            return try await person(gitHubToken: token)
        } catch SignInRefusal.notProved(let reason) {
            var problem = Problem(.unauthorized, "Invalid GitHub access token")
            problem.cause = SignInRefusal.notProved(reason).cause
            throw problem
        }
    }
}

/// Sign-in at GitHub on a device without a browser (RFC 8628). This server polls GitHub for the
/// app, since GitHub does not answer pages of other origins.
enum DeepRecallDevice {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/github/device-code") { try await begin($0) },
        ContractRoute(.post, "/api/auth/github/device-token") { try await token($0) },
        ContractRoute(.post, "/api/auth/github/poll", time: .seconds(longestWait + 4)) { call in
            try await end(call, waiting: longestWait)
        },
        // The released apps poll at this path, at their own interval.
        ContractRoute(.post, "/api/auth/github/mobile") { try await end($0, waiting: 0) },
    ]

    /// The longest wait of one request in seconds; the apps give up after a minute.
    private static let longestWait = 55
    /// The seconds between two polls, as GitHub requires; `slow_down` adds the same number.
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

    /// Polls once and answers like GitHub: with 200, whatever the user decided.
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

    /// Waits up to `waiting` seconds for the user's decision, then begins the session. Answers 400
    /// with GitHub's error if the user refused or has not decided.
    private static func end(_ call: ClientCall, waiting: Int) async throws -> Response {
        let input = try call.object()
        guard let code = DeepRecall.text(input, "device_code"),
            let device = DeepRecall.text(input, "device_id")
        else { throw DeepRecall.bad("Missing device_code or device_id") }
        guard DeepRecall.isDevice(device) else { throw DeepRecall.bad("Invalid device_id") }
        let end = call.database.clock().adding(seconds: Int64(waiting))
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
                    call.database.clock().adding(seconds: Int64(pause)) <= end
                else { throw DeepRecall.bad(waiting == 0 ? error : "authorization_pending") }
                try await call.application.pause(.seconds(pause))
                waited += pause
            }
        }
    }

    /// Polls once for a device code. A code that was not issued here, has expired or was used is
    /// reported as expired.
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
