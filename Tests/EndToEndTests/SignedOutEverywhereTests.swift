import TestSupport
import Testing

/// Revoked means revoked, for what the apps hold: by every replica, from the moment on at which the
/// call that ended it has returned at one of them.
@Suite(.cleansUp) struct SignedOutEverywhereTests {
    private static let all = [200, 200, 200]

    private func expectGood(
        _ fixture: SignedInEverywhere, _ sessions: [SignedInEverywhere.Session]
    ) throws {
        for session in sessions {
            #expect(try fixture.statuses(session) == Self.all, "\(session.name)")
        }
    }

    private func expectRefused(
        _ fixture: SignedInEverywhere, _ sessions: [SignedInEverywhere.Session], as status: Int
    ) throws {
        for session in sessions {
            let found = try fixture.statuses(session)
            #expect(found == [status, status, status], "\(session.name)")
        }
    }

    @Test func `signing out ends one app's session everywhere and no other's`() async throws {
        let fixture = try await SignedInEverywhere()
        let sessions = try fixture.signIn()
        try expectGood(fixture, sessions)
        // The token that `/v1` took is the one of its app.
        var left = sessions
        for session in sessions where session.end != nil {
            try fixture.end(session)
            let ended = left.filter { $0.field == session.field }
            left.removeAll { $0.field == session.field }
            try expectRefused(fixture, ended, as: 401)
            try expectGood(fixture, left)
        }
        #expect(left.map(\.name) == ["004"])
        try fixture.manage("DELETE", "/users/\(fixture.user)/sessions", nil)
        try expectRefused(fixture, left, as: 401)
    }

    @Test func `a suspended person or tenant is refused everywhere, and let in after resuming`()
        async throws
    {
        let fixture = try await SignedInEverywhere()
        let sessions = try fixture.signIn()
        for place in ["/users/\(fixture.user)", ""] {
            try expectGood(fixture, sessions)
            try fixture.manage("POST", "\(place)/suspend")
            for session in sessions {
                let found = try fixture.statuses(session)
                #expect(found.allSatisfy { [401, 403].contains($0) }, "\(session.name) \(found)")
            }
            try fixture.manage("POST", "\(place)/resume")
        }
        try expectGood(fixture, sessions)
    }

    @Test func `a new password ends every session but the one that set it, everywhere`()
        async throws
    {
        let fixture = try await SignedInEverywhere()
        let own = try fixture.immichByPassword()
        let sessions = try fixture.signIn()
        try expectGood(fixture, sessions + [own])
        try fixture.changePassword(own)
        try expectRefused(fixture, sessions.filter { !$0.isKey }, as: 401)
        try expectGood(fixture, [own] + sessions.filter(\.isKey))
    }

    @Test func `a deleted person is refused everywhere`() async throws {
        let fixture = try await SignedInEverywhere()
        let sessions = try fixture.signIn()
        try expectGood(fixture, sessions)
        try fixture.manage("DELETE", "/users/\(fixture.user)", nil)
        try expectRefused(fixture, sessions, as: 401)
    }
}
