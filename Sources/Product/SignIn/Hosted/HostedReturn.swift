import API
import Domain
import HTTP
import Storage
import Text

/// The browser's return from a provider.
enum HostedReturn {
    static func end(_ call: Call, _ core: SignInCore) async throws -> Response {
        let answer = try LoginReturn(call, by: .state, at: core.publicURL)
        guard let name = answer.state.utf8.split(separator: UInt8(ascii: ".")).last else {
            throw SignInRefusal.stateUnknown
        }
        let asked = String(decoding: name, as: UTF8.self)
        let isPlatforms = UUID(asked) == .platform
        let hosted = try await HostedCall(call, isPlatforms ? nil : asked, core)
        let (person, begun) = try await hosted.client.proveLogin(answer)
        if let grant = begun.grantHash {
            return try await HostedGrant.ask(person, grant, hosted.client)
        }
        do {
            return try await settle(person, begun.token, hosted)
        } catch SignInRefusal.signedOut(isStale: true) where !begun.isAskedAnew {
            return try await hosted.redirect(
                to: person.provider.id, bringing: begun.token, maxAge: 0)
        }
    }

    private static func settle(
        _ person: ProvedPerson, _ token: BroughtToken?, _ hosted: HostedCall
    ) async throws -> Response {
        let isPlatforms = hosted.client.tenant.id == .platform
        if token == nil,
            let held = try await PendingSignIn(
                hosted.client.request, hosted.client.core), held.user == nil,
            held.tenant == hosted.client.tenant.id, !isPlatforms, !held.person.isSame(as: person)
        {
            let user = try await hosted.client.admit(person)
            return try HostedSteps.confirm(held, user, hosted.client)
        }
        return try await HostedSteps.settle(person, hosted.client, bringing: token)
    }
}

extension LoginReturn {
    /// The browser's return to a page of ours, bound to it by the cookie `state.secret`, behind which
    /// the token of its `device` may stand.
    init(_ call: Call, by cookie: HostedCookie, at publicURL: String) throws {
        let query = FormText(call.request.query)
        guard let state = query.first("state"), !query.isRepeated("state"),
            let held = cookie.value(in: call.request), held.utf8.starts(with: "\(state).".utf8)
        else { throw SignInRefusal.stateUnknown }
        guard let code = query.first("code"), !query.isRepeated("code") else {
            throw SignInRefusal.notProved(
                query.first("error").map { "the provider answered \($0.prefix(64))" } ?? "no code")
        }
        let rest = held.utf8.dropFirst(state.utf8.count + 1).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        self.init(
            state: state, code: code, redirectURI: publicURL + call.request.path,
            issuer: query.first("iss"), browser: String(decoding: rest[0], as: UTF8.self))
        device = rest.dropFirst().first.map { String(decoding: $0, as: UTF8.self) }
    }
}
