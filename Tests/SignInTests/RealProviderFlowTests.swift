import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing
import Text

/// Every app's way through a real OpenID provider, and what must not get through.
@Suite(.serialized, .cleansUp) struct RealProviderFlowTests {
    private typealias Fixture = RealProviderFixture

    @Test
    func `T2 each app signs its person in by code and PKCE, and the provider leads back to it`()
        async throws
    {
        let fixture = try await Fixture.make()
        let immich = try await fixture.endImmich(
            fixture.immichReturn("state-immich", as: "person1"), state: "state-immich")
        #expect(immich.status == 201, "\(immich.text)")
        #expect(immich.json["userEmail"]?.string == "person1@example.com")

        let caught = try await fixture.timetrackerReturn(as: "person2")
        #expect(caught.hasPrefix("\(Fixture.timetracker)?"), "\(caught)")
        for name in ["code", "state"] { #expect(!Fixture.value(name, in: caught).isEmpty) }
        let timetracker = try await fixture.endTimetracker(caught)
        #expect(timetracker.status == 200, "\(timetracker.text)")
        #expect(timetracker.json["user"]?["fullName"]?.string == "Person 2")

        let begun = try await fixture.send(.get, "/timetracker/auth/login")
        let cookie = String((begun.first("set-cookie") ?? "").prefix { $0 != ";" })
        let way = try fixture.provider.authorize(begun.first("location") ?? "", as: "person3")
        let back = try await fixture.send(
            .get, "/timetracker/auth/callback?" + way.drop { $0 != "?" }.dropFirst(),
            fields: [Field("cookie", cookie)])
        #expect(back.first("location") == "https://time.acme.example/auth/callback?success=true")
        let session = String((back.first("set-cookie") ?? "").prefix { $0 != ";" })
        let me = try await fixture.send(
            .get, "/timetracker/auth/me", fields: [Field("cookie", session)])
        #expect(me.json["email"]?.string == "person3@example.com", "\(me.text)")

        let config = try await fixture.send(.get, "/relate/config/config.json").json
        #expect(config["oidcAuthority"]?.string == fixture.provider.issuer)
        let mail = try fixture.provider.tokens(
            config["oidcRedirectUri"]?.string ?? "", as: "person4")
        let profile = try await fixture.send(
            .get, "/relate/api/profile", token: mail["access_token"]?.string)
        #expect(profile.json["email"]?.string == "person4@example.com", "\(profile.text)")

        let google = try fixture.provider.tokens(as: "person5")
        let exchanged = try await fixture.send(
            .post, "/deeprecall/api/auth/exchange/google",
            #"{"id_token":"\#(google["id_token"]?.string ?? "")","device_id":"mobile-1"}"#)
        #expect(exchanged.status == 200, "\(exchanged.text)")
        #expect(exchanged.json["user"]?["email"]?.string == "person5@example.com")
    }

    @Test func `a code, a state and a verifier fit together once, and nothing else does`()
        async throws
    {
        let fixture = try await Fixture.make()
        let failed = "OAuth authentication failed"
        let over = "OIDC session not found or expired. Initiate login again."
        let unproved = "Failed to exchange token: the provider's answer could not be verified."

        // Wrong verifier; then the right one is too late.
        let first = try await fixture.immichReturn("state-000001", as: "person1")
        expectError(
            try await fixture.endImmich(
                first, state: "state-000001", verifier: String(repeating: "w", count: 43)),
            400, failed)
        expectError(try await fixture.endImmich(first, state: "state-000001"), 400, failed)
        // Another state than the one that came back.
        let second = try await fixture.immichReturn("state-000002", as: "person1")
        expectError(try await fixture.endImmich(second, state: "state-000001"), 400, failed)
        // Signed in; the state replayed.
        let done = try await fixture.endImmich(second, state: "state-000002")
        #expect(done.status == 201, "\(done.text) \(second)")
        expectError(try await fixture.endImmich(second, state: "state-000002"), 400, failed)
        // The code replayed under a state of its own: the provider knows it as used.
        _ = try await fixture.beginImmich("state-000003")
        let replayed = second.replacing("state-000002", with: "state-000003")
        expectError(try await fixture.endImmich(replayed, state: "state-000003"), 400, failed)
        // An answer that says it is another issuer's.
        let third = try await fixture.immichReturn("state-000004", as: "person1")
        let issuer = Fixture.value("iss", in: third)
        #expect(issuer == fixture.provider.issuer)
        let mixed = third.replacing(
            PercentEncoding.encode(issuer.utf8), with: "https%3A%2F%2Fevil.example")
        #expect(mixed != third)
        expectError(try await fixture.endImmich(mixed, state: "state-000004"), 400, failed)

        // The server holds the verifier: a code that another sign-in was given does not fit.
        let own = try await fixture.timetrackerReturn(as: "person2")
        let other = try await fixture.timetrackerReturn(as: "person3")
        expectOnlyError(
            try await fixture.endTimetracker(
                code: Fixture.value("code", in: other), state: Fixture.value("state", in: own)),
            400, unproved)
        expectOnlyError(try await fixture.endTimetracker(own), 400, over)
        expectOnlyError(
            try await fixture.endTimetracker(code: "c", state: "never-begun"), 400, over)
        let good = try await fixture.timetrackerReturn(as: "person3")
        #expect(try await fixture.endTimetracker(good).status == 200)
        expectOnlyError(try await fixture.endTimetracker(good), 400, over)
        // The redirect address is the one that it began with.
        let moved = try await fixture.timetrackerReturn(as: "person3")
        expectOnlyError(
            try await fixture.endTimetracker(
                code: Fixture.value("code", in: moved), state: Fixture.value("state", in: moved),
                redirect: "timetracker://oauth/other"), 400, over)
    }

    @Test func `an address that is not registered is never redirected to`() async throws {
        let fixture = try await Fixture.make()
        for redirect in [
            "https://evil.example/", "app.immich:///oauth-callback2", "app.immich:/oauth-callback",
            "APP.immich:///oauth-callback", "app.immich:///oauth-callback?x=1", "",
        ] {
            let begun = try await fixture.beginImmich("state-000001", redirect: redirect)
            #expect(begun.status == 400, "\(redirect) \(begun.text)")
            let login = try await fixture.send(
                .get,
                "/timetracker/auth/login?redirect_uri=\(PercentEncoding.encode(redirect.utf8))")
            #expect(login.status == 400 && login.first("location") == nil, "\(redirect)")
        }
    }

    @Test func `a provider that is away is 503, and with a new key signs the same person in`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await Fixture.make(clock: clock)
        let first = try await fixture.endTimetracker(fixture.timetrackerReturn(as: "person2"))
        let tokens = try fixture.provider.tokens(as: "person2")
        let pending = try await fixture.timetrackerReturn(as: "person2")
        let waiting = try await fixture.immichReturn("state-away", as: "person2")
        try fixture.provider.halt()
        let refused = try await fixture.endTimetracker(pending)
        expectOnlyError(
            refused, 503,
            "Failed to exchange token: the provider cannot be asked; try again.")
        #expect(refused.first("retry-after") == "5")
        expectError(
            try await fixture.endImmich(waiting, state: "state-away"), 503,
            "OAuth authentication failed")
        // What was issued goes on: it asks no provider.
        let token = first.json["access_token"]?.string
        #expect(try await fixture.send(.get, "/timetracker/auth/me", token: token).status == 200)
        try fixture.provider.resume()
        // Keys are asked for again after a minute at the soonest.
        clock.advance(seconds: 61)
        let second = try await fixture.endTimetracker(fixture.timetrackerReturn(as: "person2"))
        #expect(second.status == 200, "\(second.text)")
        #expect(second.json["user"] == first.json["user"])
        // A token of the removed key is refused.
        let old = try await fixture.send(
            .get, "/relate/api/profile", token: tokens["access_token"]?.string)
        #expect(old.status == 401)
    }
}
