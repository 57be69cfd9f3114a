import API
import Cryptography
import Domain
import HTTP
import JSON
import Outbound
import Storage

extension ClientCall {
    /// Returns the person of an access token that an app itself got at the client's provider. The
    /// provider must have issued the token to our client; otherwise the owner of another app could
    /// sign in as that app's users.
    func person(accessToken text: String) async throws -> ProvedPerson {
        guard let row = try await provider(kinds: ["oidc", "google"]),
            let remote = try await remote(row)
        else { throw SignInRefusal.noProvider }
        var person = try await remote.person(accessToken: text)
        try await remote.complete(&person, text)
        return person
    }
}

extension RemoteProvider {
    /// Returns the person of an access token. It is verified with the provider's keys (RFC 9068 and
    /// plain JWTs), or else by introspection (RFC 7662).
    fileprivate func person(accessToken text: String) async throws -> ProvedPerson {
        if JWS(compact: Array(text.utf8)) != nil {
            do {
                return try await person(signed: text, nonce: nil, isAccessToken: true)
            } catch SignInRefusal.notProved(let reason) {
                guard try await metadata().endpoints[.introspection] != nil else {
                    throw SignInRefusal.notProved(reason)
                }
            }
        }
        return try await introspected(text)
    }

    private func introspected(_ text: String) async throws -> ProvedPerson {
        guard let url = try await metadata().endpoints[.introspection] else {
            throw SignInRefusal.notProved("an access token that only its provider can read")
        }
        let answer = try await authenticated(
            [("token", text), ("token_type_hint", "access_token")], at: url)
        guard answer["active"]?.bool == true else {
            throw SignInRefusal.notProved("the access token is not active")
        }
        let audiences =
            answer["aud"]?.array?.compactMap(\.string)
            ?? [answer["aud"]?.string].compactMap(\.self)
        // The token must have been issued to our client. The audience counts only if the response
        // does not name the client.
        let given = answer["client_id"]?.string.map { [$0] } ?? audiences
        guard party.takesOne(of: given), !given.isEmpty else {
            throw SignInRefusal.notProved(
                "the access token was not issued to this server's client")
        }
        guard let subject = answer["sub"]?.string, (1...255).contains(subject.utf8.count) else {
            throw SignInRefusal.notProved("the access token has no valid `sub`")
        }
        return ProvedPerson(
            provider: row, subject: subject, audience: clientID,
            tokenTime: TokenTime(claims: answer))
    }
}
