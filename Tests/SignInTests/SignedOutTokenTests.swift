import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Ending all sessions of a person also ends what a provider gave them before.
struct SignedOutTokenTests {
    @Test func `W4 a token from before the person was signed out everywhere is over`() async throws
    {
        let stage = try await ThinkWorkStage.make()
        try await stage.addPool()
        let token = try await stage.join("ann@acme.example")
        let path = "/api/auth/me"
        let me = try await stage.send(.get, path, token: token)
        let id = try #require(me.json["userId"]?.string)
        let ended = try await stage.service.send(
            .delete, "/v1/tenants/acme/users/\(id)/sessions", as: .platformOwner)
        #expect(ended.status == 204)
        for path in [path, "/api/auth/enrollment/auto-link"] {
            let method: HTTP.Method = path.hasSuffix("me") ? .get : .post
            expectOnlyError(
                try await stage.send(method, path, token: token), 401, "Unauthorized")
        }
        let soon = Int64(Timestamp.systemClock().microseconds / 1_000_000 + 5)
        let newer = stage.token("ann@acme.example", ["auth_time": "\(soon)"])
        #expect(try await stage.send(.get, path, token: newer).json["userId"]?.string == id)
        await stage.stop()
    }
}
