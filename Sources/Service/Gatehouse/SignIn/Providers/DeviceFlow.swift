import API
import Cryptography
import Domain
import HTTP
import JSON
import Outbound
import Storage
import Text

/// The codes for a sign-in on a device, which displays the user code (RFC 8628 section 3.2).
struct DeviceCode: Sendable {
    var deviceCode: String
    var userCode: String
    var verificationURI: String
    var expiresIn: Int
    var interval: Int
}

/// The result of one poll for a device's token (RFC 8628 section 3.5).
enum DevicePoll: Sendable {
    /// The user has not decided; the value is `authorization_pending` or `slow_down`.
    case pending(String)
    /// The sign-in ended without success; the value is `expired_token` or `access_denied`.
    case over(String)
    case granted(accessToken: String, begunAt: Timestamp)
}

extension ClientCall {
    /// Verifies an id token that an app itself got at the client's provider of this kind, and
    /// returns the person whom the token proves.
    func person(idToken: String, kind: ProviderKind) async throws -> ProvedPerson {
        try await remote(kind).person(idToken: idToken, nonce: nil)
    }

    /// Verifies a GitHub access token that an app itself got, and returns the person whom the token
    /// proves.
    func person(gitHubToken token: String) async throws -> ProvedPerson {
        let remote = try await remote(.github)
        guard (1...512).contains(token.utf8.count) else {
            throw SignInRefusal.notProved("the token is malformed")
        }
        let issuedAt = try await remote.requireOurs(token)
        var person = try await remote.gitHubPerson(token)
        person.tokenTime = issuedAt
        return person
    }

    /// Returns the person whom a token from `pollDevice` proves. `begunAt` is the time at which the
    /// sign-in on the device began.
    func person(
        grantedGitHubToken token: String, begunAt: Timestamp
    ) async throws -> ProvedPerson {
        var person = try await remote(.github).gitHubPerson(token)
        person.tokenTime = .begun(begunAt, authenticatedAt: nil)
        return person
    }

    /// Begins a sign-in on a device without a browser. `device` is the app's id of the device.
    func beginDeviceLogin(device: String?) async throws -> DeviceCode {
        let remote = try await remote(.github)
        try await count(.device)
        let form = FormText.encode([("client_id", remote.clientID), ("scope", remote.scope)])
        let answer = try await remote.send(
            OutboundRequest(
                .post, try await remote.endpoint(.deviceAuthorization),
                fields: [Field("content-type", "application/x-www-form-urlencoded")],
                body: Array(form.utf8)))
        guard let code = answer["device_code"]?.string, let shown = answer["user_code"]?.string,
            let uri = answer["verification_uri"]?.string
        else { throw SignInRefusal.providerAway("GitHub gave no device code") }
        let isKept = try await scope.begin(
            LoginState(
                hash: Self.hash(device: code), client: client.name, provider: remote.row.id,
                redirectURI: "", nonce: "", device: device))
        guard isKept else { throw SignInRefusal.stateUnknown }
        return DeviceCode(
            deviceCode: code, userCode: shown, verificationURI: uri,
            expiresIn: min(answer["expires_in"]?.int ?? 600, Int(TenantScope.loginSeconds)),
            interval: answer["interval"]?.int ?? 5)
    }

    /// The minimum number of seconds between two polls of one code. Apps wait five seconds, and the
    /// minimum leaves a tolerance.
    private static let leastPause: Int64 = 4

    /// Polls once for the user's decision. Throws `.stateUnknown` for a code that was not issued
    /// here, has expired, or was used.
    func pollDevice(_ code: String, device: String? = nil) async throws -> DevicePoll {
        let hash = Self.hash(device: code)
        guard let begun = try await scope.login(hash, client: client.name),
            device == nil || begun.device == nil || begun.device == device
        else { throw SignInRefusal.stateUnknown }
        // If a client polls one code too often, a provider slows down all users of the client. So
        // do not ask the provider now.
        guard try await scope.mayAsk(hash, client: client.name, every: Self.leastPause) else {
            return .pending("slow_down")
        }
        let remote = try await remote(.github)
        let answer = try await remote.tokenAnswer([
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", code),
        ])
        if let error = answer["error"]?.string {
            if ["authorization_pending", "slow_down"].contains(error) { return .pending(error) }
            _ = try await scope.consumeLogin(hash, client: client.name)
            return .over(error == "access_denied" ? error : "expired_token")
        }
        guard let token = answer["access_token"]?.string,
            try await scope.consumeLogin(hash, client: client.name) != nil
        else { throw SignInRefusal.stateUnknown }
        return .granted(accessToken: token, begunAt: begun.begunAt ?? now)
    }

    private func remote(_ kind: ProviderKind) async throws -> RemoteProvider {
        guard let row = try await provider(kinds: [kind.rawValue]),
            let remote = try await remote(row)
        else { throw SignInRefusal.noProvider }
        return remote
    }

    /// Returns the hash by which a device code is stored. The hashed text begins with a prefix, so
    /// that no code can be taken for a state.
    private static func hash(device code: String) -> [UInt8] {
        SHA256.hash(Array("device\0\(code)".utf8))
    }
}
