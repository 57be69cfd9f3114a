import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What was made as the winner by the time of an undo may be the other person's: none of it lets
/// them in as the winner afterwards.
@Suite(.serialized, .cleansUp) struct MergeUndoTests {
    private struct Merged {
        let fixture: UserFixture
        let ada: UserRow
        let eve: UserRow
        /// Of Ada, and of Eve, from before.
        let own: MadeKey
        let moved: MadeKey
        var merge = ""

        func change<Result: Sendable>(
            _ body: @Sendable (Change) async throws -> Result
        ) async throws -> Result {
            try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system, body)
        }

        func undo() async throws -> TestAnswer {
            try await fixture.send(.post, "/merges/\(merge)/undo")
        }

        func key(of user: UserRow) async throws -> MadeKey {
            try await fixture.service.makeKey(
                #""users:read""#, #","owner":{"type":"user","id":"\#(user.id)"}"#)
        }
    }

    private func merged(password: Bool = true) async throws -> Merged {
        let fixture = try await UserFixture.make()
        let service = fixture.service
        let ada = try await service.makeUser(
            "ada@acme.example", name: "Ada", password: "correct horse battery", in: fixture.tenant)
        let eve = try await service.makeUser(
            "eve@acme.example", name: "Eve", password: "correct horse battery", in: fixture.tenant)
        let key = #","owner":{"type":"user","id":"\#(ada.id)"}"#
        let own = try await service.makeKey(#""users:read""#, key)
        let moved = try await service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(eve.id)"}"#)
        var made = Merged(fixture: fixture, ada: ada, eve: eve, own: own, moved: moved)
        if !password {
            try await made.change { change in
                try await change.query(
                    """
                    UPDATE users SET password_hash = NULL, password_changed_at = NULL,
                        status = 'pending' WHERE tenant_id = \(change.tenant) AND id = \(ada.id)
                    """)
            }
        }
        let merge = try await fixture.merge(
            winner: ada.id.description, loser: eve.id.description)
        made.merge = try #require(merge.json["id"]?.string, "\(merge.text)")
        return made
    }

    @Test func `keys that were made or rotated since are revoked and named`() async throws {
        let place = try await merged()
        let service = place.fixture.service
        let since = try await place.key(of: place.ada)
        let child = try await service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(place.ada.id)"}"#,
            as: .platformOwner)
        var rotated: [String] = []
        for key in [place.own, place.moved] {
            let answer = try await service.send(
                .post, "/v1/tenants/acme/api-keys/\(key.id)/rotate", json: "{}", as: .platformOwner)
            rotated.append(try #require(answer.json["key"]?.string, "\(answer.text)"))
        }
        let undone = try await place.undo()
        #expect(undone.status == 200, "\(undone.text)")
        for secret in [since.secret, child.secret] + rotated {
            #expect(try await service.verdict(secret) == "revoked")
        }
        let named = (undone.json["ended"]?["keys"]?.array ?? []).compactMap(\.string)
        #expect(Set(named) == [since.id, child.id, place.own.id, place.moved.id])
        #expect(
            try await place.fixture.count("audit_events WHERE action = 'api_key.revoked'") == 4)
        // A second time, and every time that it is read, it says the same.
        #expect(try await place.undo().json == undone.json)
        #expect(
            try await place.fixture.send(.get, "/merges/\(place.merge)").json == undone.json)
    }

    @Test func `an undo ends nothing that is older than the merge`() async throws {
        let place = try await merged()
        let undone = try await place.undo()
        #expect(undone.json["ended"]?["keys"] == .array([]), "\(undone.text)")
        #expect(undone.json["ended"]?["password"] == .bool(false))
        for key in [place.own, place.moved] {
            #expect(try await place.fixture.service.verdict(key.secret) == "valid")
        }
        #expect(try await place.fixture.count("users WHERE password_hash IS NOT NULL") == 2)
    }

    @Test func `links, a new address, a password and a PIN since are ended and said`()
        async throws
    {
        let place = try await merged()
        let (fixture, ada) = (place.fixture, place.ada)
        let before = try await fixture.count("users WHERE password_hash IS NOT NULL")
        #expect(before >= 1)
        _ = try await fixture.addSession(of: ada.id.description)
        try await place.change { change in
            let user = try await change.lockUser(ada.id)
            _ = try await change.setPassword("of eve", of: ada.id, keeping: .all)
            _ = try await change.setPin("of eve", of: user, was: nil)
        }
        for path in ["link-grants", "password-link"] {
            let answer = try await fixture.send(.post, "/\(ada.id)/\(path)", json: "{}")
            #expect(answer.status == 201, "\(path) \(answer.text)")
        }
        try await place.change { change in
            try await change.query(
                """
                INSERT INTO email_changes (tenant_id, user_id, email, email_key, token_hash,
                    created_at, expires_at)
                VALUES (\(change.tenant), \(ada.id), 'e@e.example', 'e@e.example', '\\x00',
                    \(change.now), \(change.now.adding(seconds: 600)))
                """)
            try await change.query(
                """
                INSERT INTO known_devices (tenant_id, user_id, key, last_at)
                VALUES (\(change.tenant), \(ada.id), '\\x00', \(change.now))
                """)
        }
        let undone = try await place.undo()
        #expect(undone.status == 200, "\(undone.text)")
        let ended = undone.json["ended"]
        for name in ["sessions", "link_grants", "password_links"] {
            #expect(ended?[name] == .int(1), "\(name) \(undone.text)")
        }
        for name in ["email_change", "password", "pin"] {
            #expect(ended?[name] == .bool(true), "\(name) \(undone.text)")
        }
        for table in ["link_grants", "email_changes", "sessions", "known_devices"] as [SQL] {
            #expect(try await fixture.count(table) == 0, "\(table)")
        }
        #expect(try await fixture.count("password_resets WHERE used_at IS NULL") == 0)
        // Ada may set a new one by mail; Eve's is hers again.
        #expect(
            try await fixture.count(
                """
                users WHERE id = \(ada.id) AND password_hash IS NULL AND pin_hash IS NULL
                    AND password_awaited AND status = 'active'
                """) == 1)
        #expect(
            try await fixture.count(
                "users WHERE id = \(place.eve.id) AND password_hash IS NOT NULL") == 1)
    }

    @Test func `a first password since is removed with its sign-in`() async throws {
        let place = try await merged(password: false)
        let (fixture, ada) = (place.fixture, place.ada)
        try await place.change { change in
            _ = try await change.setPassword("of eve", of: ada.id, keeping: .all)
            try await change.query(
                """
                INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, created_at)
                VALUES (\(change.tenant), \(UUID.random()), \(ada.id), 'password', '', 'a',
                    \(change.now))
                """)
        }
        let undone = try await place.undo()
        #expect(undone.json["ended"]?["password"] == .bool(true), "\(undone.text)")
        #expect(
            try await fixture.count(
                """
                users WHERE id = \(ada.id) AND password_hash IS NULL AND NOT password_awaited
                    AND status = 'pending'
                """) == 1)
        #expect(try await fixture.count("identities WHERE user_id = \(ada.id)") == 0)
    }

    @Test func `a sign-in since is named until somebody says whose it is`() async throws {
        let place = try await merged()
        let (fixture, ada) = (place.fixture, place.ada)
        let ids = [UUID.random(), UUID.random()]
        try await place.change { change in
            for (id, word) in zip(ids, [nil, "operator"] as [String?]) {
                try await change.query(
                    """
                    INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject,
                        created_at, linked_by_type)
                    VALUES (\(change.tenant), \(id), \(ada.id), 'google', 'g', \(id.description),
                        \(change.now), \(word))
                    """)
            }
        }
        let refused = try await place.undo()
        #expect(refused.status == 409, "\(refused.text)")
        let pointers = (refused.json["conflicts"]?.array ?? []).map { $0["pointer"]?.string }
        #expect(pointers == ["/winner/identities/\(ids[0])"], "\(refused.text)")
        let gone = try await fixture.send(.delete, "/\(ada.id)/identities/\(ids[0])")
        #expect(gone.status == 204, "\(gone.text)")
        // What an operator linked by hand is an operator's decision.
        #expect(try await place.undo().status == 200)
        #expect(try await fixture.count("identities WHERE user_id = \(ada.id)") == 1)
    }

    @Test func `an address that the winner took since has to be given back first`()
        async throws
    {
        let place = try await merged()
        func give(_ address: String) async throws {
            try await place.change { change in
                try await change.query(
                    """
                    UPDATE users SET email = \(address), email_key = \(address)
                    WHERE tenant_id = \(change.tenant) AND id = \(place.ada.id)
                    """)
            }
        }
        try await give("eve@evil.example")
        let refused = try await place.undo()
        #expect(
            refused.json["conflicts"]?.array?.first?["pointer"]?.string == "/winner/email",
            "\(refused.text)")
        try await give("ada@acme.example")
        #expect(try await place.undo().status == 200)
    }

    @Test func `a suspension since is of both, and a deletion is taken back first`() async throws {
        let place = try await merged()
        let fixture = place.fixture
        func status(_ user: UserRow) async throws -> String? {
            try await fixture.send(.get, "/\(user.id)").json["status"]?.string
        }
        #expect(try await fixture.send(.delete, "/\(place.ada.id)").status == 204)
        let refused = try await place.undo()
        #expect(
            refused.json["conflicts"]?.array?.first?["pointer"]?.string == "/winner/status",
            "\(refused.text)")
        #expect(try await fixture.send(.post, "/\(place.ada.id)/restore").status == 200)
        #expect(try await fixture.send(.post, "/\(place.ada.id)/suspend").status == 200)
        #expect(try await place.undo().status == 200)
        for user in [place.ada, place.eve] {
            #expect(try await status(user) == "suspended")
            #expect(try await fixture.send(.post, "/\(user.id)/resume").status == 200)
            #expect(try await status(user) == "active")
        }
    }

    @Test func `an invite that was revoked once more stays revoked`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await fixture.make("ada@example.com")
        let eve = try await fixture.make("eve@example.com")
        try await fixture.addInvite("eve@example.com")
        let merge = try await fixture.merge(winner: ada, loser: eve).json["id"]?.string ?? ""
        let invites = try await fixture.service.send(
            .get, "/v1/tenants/acme/invites", as: .platformOwner)
        let id = try #require(invites.json["items"]?.array?.first?["id"]?.string)
        let again = try await fixture.service.send(
            .post, "/v1/tenants/acme/invites/\(id)/revoke", as: .platformOwner)
        #expect(again.status == 200, "\(again.text)")
        #expect(try await fixture.send(.post, "/merges/\(merge)/undo").status == 200)
        #expect(try await fixture.count("invites WHERE status = 'pending'") == 0)
    }
}
