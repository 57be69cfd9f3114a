import Cryptography
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// A provider of our own behind an Immich client, driven as the mobile app drives it.
struct ImmichOAuthFixture {
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let redirect = "app.immich:///oauth-callback"

    let base: ImmichFixture
    let provider: TestProvider

    static func make(
        trust: String = "verified_claim", clock: TestClock? = nil
    ) async throws -> ImmichOAuthFixture {
        let base = try await ImmichFixture.make(clock: clock)
        let provider = try await TestProvider.start()
        let made = try await base.service.send(
            .post, "/v1/providers",
            json: #"{"kind":"oidc","name":"Test","issuer":"\#(provider.issuer)","#
                + #""client_id":"web","secret":"s3cret","email_trust":"\#(trust)"}"#,
            as: .platformOwner)
        #expect(made.status == 201, "\(made.text)")
        return ImmichOAuthFixture(base: base, provider: provider)
    }

    func invite(_ email: String) async throws {
        let answer = try await base.service.send(
            .post, "/v1/tenants/acme/invites", json: #"{"email":"\#(email)"}"#,
            as: .platformOwner)
        #expect(answer.status == 201, "\(answer.text)")
    }

    /// Begins and gives the query that the app would be sent to the provider with.
    func begin(_ state: String, redirect: String = "") async throws -> FormText {
        let path =
            "/api/oauth/authorize?code_challenge=\(Self.challenge)&code_challenge_method=S256"
        let answer = try await base.send(.get, "\(path)&state=\(state)\(redirect)")
        let url = answer.json["url"]?.string ?? ""
        expectAnswer(answer, #"{"url":"\#(url)"}"#)
        #expect(answer.first("set-cookie") == nil)
        #expect(url.hasPrefix("\(provider.issuer)/authorize?response_type=code&"))
        return FormText(String(url.drop { $0 != "?" }.dropFirst()))
    }

    /// The provider will redeem any code for this person.
    func grant(
        _ nonce: String, email: String = "new@acme.example",
        at now: Timestamp = Timestamp.systemClock()
    ) {
        let token = provider.mint(clientID: "web", now: now).token(
            [
                "nonce": "\"\(nonce)\"", "email": "\"\(email)\"", "email_verified": "true",
                "sub": "\"\(email)\"",
            ])
        provider.set(
            "/token", .init(#"{"id_token":"\#(token)","access_token":"a"}"#))
    }

    func end(
        _ state: String, _ verifier: String? = Self.verifier, query: String = "",
        at redirect: String = Self.redirect
    ) async throws -> TestAnswer {
        let url = "\(redirect)?code=c0de&state=\(state)\(query)"
        let proof = verifier.map { #","codeVerifier":"\#($0)""# } ?? ""
        return try await base.send(
            .post, "/api/oauth/callback", #"{"url":"\#(url)"\#(proof)}"#,
            fields: ImmichFixture.device)
    }
}
