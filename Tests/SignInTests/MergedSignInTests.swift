import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Every door and every contract after two records of a person became one.
@Suite(.serialized, .cleansUp) struct MergedSignInTests {
    private static func user(_ person: Somebody, _ fixture: OneIdentityFixture) async throws
        -> String
    {
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users?q=\(person.email)", as: .platformOwner)
        return try #require(users.json["items"]?.array?.first?["id"]?.string, "\(users.text)")
    }

    /// The answers of the contracts to credentials that were given out before.
    private static func old(
        _ passed: [EntryPoint: TestAnswer], _ fixture: OneIdentityFixture
    ) async throws -> [EntryPoint: Int] {
        func text(_ entryPoint: EntryPoint, _ name: String) -> String {
            passed[entryPoint]?.json[name]?.string ?? ""
        }
        let places: [(EntryPoint, String, String)] = [
            (.immich, "/t/acme/immich/api/users/me", text(.immich, "accessToken")),
            (.timetracker, "/t/acme/timetracker/auth/me", text(.timetracker, "access_token")),
            (.deeprecall, "/t/acme/deeprecall/api/profile", text(.deeprecall, "app_jwt")),
        ]
        var found: [EntryPoint: Int] = [:]
        for (entryPoint, path, token) in places {
            found[entryPoint] = try await fixture.service.send(
                .get, path, as: .bearer(token)
            ).status
        }
        return found
    }

    @Test func `every door leads to the winner, and again to the loser after the undo`()
        async throws
    {
        let fixture = try await OneIdentityFixture()
        let winner = Somebody(expected: .preProvisioned, name: "winner")
        let loser = Somebody(expected: .domainMatched, name: "loser")
        try await fixture.expect(winner)
        _ = try await fixture.pass(winner, .token)
        var passed: [EntryPoint: TestAnswer] = [:]
        for door in EntryPoint.allCases {
            if door == .thinkwork, passed.isEmpty { continue }
            passed[door] = try await fixture.pass(loser, door)
        }
        let ids = (
            try await Self.user(winner, fixture), try await Self.user(loser, fixture)
        )
        let before = try await Self.old(passed, fixture)
        #expect(before.values.allSatisfy { $0 == 200 }, "\(before)")
        let keys = try await fixture.count("api_keys WHERE owner_user_id::text = \(ids.1)")
        #expect(keys > 0)
        let merge = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/merges",
            json: #"{"winner":"\#(ids.0)","loser":"\#(ids.1)"}"#, as: .platformOwner)
        #expect(merge.status == 201, "\(merge.text)")
        let after = try await Self.old(passed, fixture)
        #expect(after.values.allSatisfy { $0 == 401 }, "\(after)")
        let started = "sessions WHERE user_id::text" as SQL
        for door in EntryPoint.allCases {
            let answer = try await fixture.pass(loser, door)
            #expect((200...303).contains(answer.status), "\(door) \(answer.text)")
            if let user = answer.json["user"]?["id"] ?? answer.json["userId"] {
                #expect(user.string == ids.0, "\(door) \(answer.text)")
            } else {
                #expect(!answer.text.contains(ids.1), "\(door) \(answer.text)")
            }
            #expect(answer.json["outcome"]?.string != "refused", "\(door) \(answer.text)")
            let identities = try await fixture.count(
                "identities WHERE user_id::text = \(ids.0)")
            #expect(identities == 2, "\(door)")
        }
        #expect(try await fixture.count("\(started) = \(ids.1)") == 0)
        #expect(try await fixture.count("\(started) = \(ids.0)") > 2)
        #expect(
            try await fixture.count("api_keys WHERE owner_user_id::text = \(ids.0)") >= keys)
        #expect(try await fixture.count("users") == 2 - 1)
        let merged = merge.json["id"]?.string ?? ""
        // The mail app's key of since then is the winner's: only what moved goes back.
        let undone = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/merges/\(merged)/undo", as: .platformOwner)
        #expect(undone.status == 200, "\(undone.text)")
        #expect(try await fixture.count("\(started) = \(ids.0)") == 0)
        for door in EntryPoint.allCases where door != .relate {
            let answer = try await fixture.pass(loser, door)
            #expect((200...303).contains(answer.status), "\(door) \(answer.text)")
            #expect(!answer.text.contains(ids.0), "\(door) \(answer.text)")
        }
        #expect(
            try await fixture.count("identities WHERE user_id::text = \(ids.1)") == 1)
    }

    /// Signs in where a provider's own token is shown.
    private static func show(
        _ token: String, to fixture: OneIdentityFixture
    ) async throws -> String? {
        let answer = try await fixture.service.send(
            .post, "/v1/provisioning/sign-in", json: #"{"tenant":"acme"}"#, as: .bearer(token))
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["user"]?["id"]?.string
    }

    @Test func `what a provider gave out before the merge leads to the winner after it`()
        async throws
    {
        let fixture = try await OneIdentityFixture()
        let winner = Somebody(expected: .preProvisioned, name: "winner")
        let loser = Somebody(expected: .domainMatched, name: "loser")
        try await fixture.expect(winner)
        _ = try await fixture.pass(winner, .token)
        // A minute old: a cut by the merge would refuse them, as it does at the end.
        let old = fixture.service.storage.clock().adding(seconds: -60)
        let tokens = [winner, loser].map { fixture.googleToken($0, at: old) }
        _ = try await fixture.pass(loser, .token)
        let (one, two) = (
            try await Self.user(winner, fixture), try await Self.user(loser, fixture)
        )
        func shown() async throws -> [String?] {
            [
                try await Self.show(tokens[0], to: fixture),
                try await Self.show(tokens[1], to: fixture),
            ]
        }
        #expect(try await shown() == [one, two])
        let merge = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/merges",
            json: #"{"winner":"\#(one)","loser":"\#(two)"}"#, as: .platformOwner)
        #expect(merge.status == 201, "\(merge.text)")
        #expect(try await shown() == [one, one])
        let undone = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/merges/\(merge.json["id"]?.string ?? "")/undo",
            as: .platformOwner)
        #expect(undone.status == 200, "\(undone.text)")
        #expect(try await shown() == [one, two])
        let ended = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(two)/sessions", as: .platformOwner)
        #expect((200..<300).contains(ended.status), "\(ended.text)")
        let refused = try await fixture.service.send(
            .post, "/v1/provisioning/sign-in", json: #"{"tenant":"acme"}"#, as: .bearer(tokens[1]))
        #expect(refused.status == 401, "\(refused.text)")
    }
}
