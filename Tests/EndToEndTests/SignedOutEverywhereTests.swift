import TestSupport
import Testing

/// Revoked means revoked, for what the apps hold: by every replica, from the moment on at which the
/// call that ended it has returned at one of them.
@Suite(.cleansUp) struct SignedOutEverywhereTests {
    private static let all = [200, 200, 200]

    private func expectGood(
        _ scene: SignedInEverywhere, _ sessions: [SignedInEverywhere.Session]
    ) throws {
        for session in sessions {
            #expect(try scene.statuses(session) == Self.all, "\(session.name)")
        }
    }

    private func expectRefused(
        _ scene: SignedInEverywhere, _ sessions: [SignedInEverywhere.Session], as status: Int
    ) throws {
        for session in sessions {
            let found = try scene.statuses(session)
            #expect(found == [status, status, status], "\(session.name)")
        }
    }

    @Test func `signing out ends one app's session everywhere and no other's`() async throws {
        let scene = try await SignedInEverywhere()
        let sessions = try scene.signIn()
        try expectGood(scene, sessions)
        // The token that `/v1` took is the one of its app.
        var left = sessions
        for session in sessions where session.end != nil {
            try scene.end(session)
            let ended = left.filter { $0.field == session.field }
            left.removeAll { $0.field == session.field }
            try expectRefused(scene, ended, as: 401)
            try expectGood(scene, left)
        }
        #expect(left.map(\.name) == ["004"])
        try scene.manage("DELETE", "/users/\(scene.user)/sessions", nil)
        try expectRefused(scene, left, as: 401)
    }

    @Test func `a suspended person or tenant is refused everywhere, and let in after resuming`()
        async throws
    {
        let scene = try await SignedInEverywhere()
        let sessions = try scene.signIn()
        for place in ["/users/\(scene.user)", ""] {
            try expectGood(scene, sessions)
            try scene.manage("POST", "\(place)/suspend")
            for session in sessions {
                let found = try scene.statuses(session)
                #expect(found.allSatisfy { [401, 403].contains($0) }, "\(session.name) \(found)")
            }
            try scene.manage("POST", "\(place)/resume")
        }
        try expectGood(scene, sessions)
    }

    @Test func `a new password ends every session but the one that set it, everywhere`()
        async throws
    {
        let scene = try await SignedInEverywhere()
        let own = try scene.immichByPassword()
        let sessions = try scene.signIn()
        try expectGood(scene, sessions + [own])
        try scene.changePassword(own)
        try expectRefused(scene, sessions.filter { !$0.isKey }, as: 401)
        try expectGood(scene, [own] + sessions.filter(\.isKey))
    }

    @Test func `a deleted person is refused everywhere`() async throws {
        let scene = try await SignedInEverywhere()
        let sessions = try scene.signIn()
        try expectGood(scene, sessions)
        try scene.manage("DELETE", "/users/\(scene.user)", nil)
        try expectRefused(scene, sessions, as: 401)
    }
}
