import API
import Domain
import HTTP
import Storage
import Text

/// The browser's return from a provider.
enum HostedReturn {
    static func end(_ call: Call, _ core: SignInCore) async throws -> Response {
        let query = FormText(call.request.query)
        guard let state = query.first("state"), !query.isRepeated("state"),
            let cookie = HostedCookie.state.value(in: call.request),
            cookie.utf8.starts(with: "\(state).".utf8),
            let name = state.utf8.split(separator: UInt8(ascii: ".")).last
        else { throw SignInRefusal.stateUnknown }
        guard let code = query.first("code"), !query.isRepeated("code") else {
            throw SignInRefusal.notProved("no code")
        }
        let asked = String(decoding: name, as: UTF8.self)
        let isPlatforms = UUID(asked) == .platform
        let hosted = try await HostedCall(call, isPlatforms ? nil : asked, core)
        let secret = String(decoding: cookie.utf8.dropFirst(state.utf8.count + 1), as: UTF8.self)
        let (person, token) = try await hosted.client.proveLogin(
            LoginReturn(
                state: state, code: code, redirectURI: core.publicURL + call.request.path,
                issuer: query.first("iss"), browser: secret))
        if token == nil, let grant = try await HostedGrant.held(hosted.client) {
            return try await HostedGrant.use(grant, for: person, hosted.client)
        }
        if token == nil, let held = try await PendingSignIn(call.request, core), held.user == nil,
            held.tenant == hosted.client.tenant.id, !isPlatforms, !held.person.isSame(as: person)
        {
            let user = try await hosted.client.admit(person)
            return try HostedSteps.confirm(held, user, hosted.client)
        }
        return try await HostedSteps.settle(person, hosted.client, bringing: token)
    }
}
