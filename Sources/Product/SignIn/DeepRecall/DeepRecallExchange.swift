import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// Exchanges a provider's token for one of ours.
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

    /// Six hours.
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

    /// The session behind an access token with what the app reads from its payload.
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
    /// One text for every invalid GitHub token.
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
