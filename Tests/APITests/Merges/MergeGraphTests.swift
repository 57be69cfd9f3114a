import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Random users with everything that they may have, merged in random order and all undone: the rows
/// are as before.
@Suite(.serialized, .cleansUp) struct MergeGraphTests {
    private static let rounds = 300

    @Test func `a merge and its undo restore the earlier rows`() async throws {
        let fixture = try await UserFixture.make()
        var numbers = SeededNumbers(seed: 20)
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        var (merged, unproved) = (0, 0)
        for round in 0..<Self.rounds {
            let users = try await make(round, fixture, administrator, &numbers)
            let before = try await rows(administrator)
            let bound = try await owners(administrator, isUnprovedOnly: true)
            var merges: [String] = []
            var left = users
            for _ in 1..<Int.random(in: 2...users.count, using: &numbers) {
                left.shuffle(using: &numbers)
                guard left.count > 1 else { break }
                let answer = try await fixture.merge(
                    winner: left[0].description, loser: left[1].description)
                if answer.status == 409 { continue }
                merges.append(try #require(answer.json["id"]?.string, "\(round) \(answer.text)"))
                left.remove(at: 1)
            }
            merged += merges.count
            let now = try await owners(administrator, isUnprovedOnly: false)
            for (what, owner) in now where what.hasPrefix("own") || bound[what] != nil {
                guard bound[what] != owner else { continue }
                Issue.record("round \(round): \(what) moved to \(owner)")
                return
            }
            unproved += bound.count { $0.key.hasPrefix("sign-in") }
            for merge in merges.reversed() {
                let undone = try await fixture.send(.post, "/merges/\(merge)/undo")
                #expect(undone.status == 200, "\(round) \(undone.text)")
            }
            let after = try await rows(administrator)
            for (table, old) in before where after[table] != old {
                Issue.record("round \(round), \(table): \(old) -> \(after[table] ?? "")")
                return
            }
            try await clear(administrator)
        }
        #expect(merged > Self.rounds)
        #expect(unproved > Self.rounds)
    }

    /// What no merge may give to another user: each user's own password, PIN, name and role, and
    /// the sign-ins that were never proved; with the user who has it.
    private func owners(
        _ administrator: Postgres, isUnprovedOnly: Bool
    ) async throws -> [String: UUID] {
        let rows = try await administrator.read(
            """
            SELECT 'own ' || row(u.password_hash, u.pin_hash, u.name, u.role, u.email)::text, u.id
            FROM users u
            UNION ALL SELECT 'sign-in ' || i.id, i.user_id
            FROM identities i JOIN users u ON u.tenant_id = i.tenant_id AND u.id = i.user_id
            WHERE NOT \(isUnprovedOnly) OR i.provider = 'password'
                OR u.status = 'pending' AND NOT i.email_verified AND i.linked_by_type IS NULL
            """)
        var found: [String: UUID] = [:]
        for row in rows { found[try row.get(0)] = try row.get(1, as: UUID.self) }
        return found
    }

    private static let tables: [SQL] = [
        "users", "identities", "identity_aliases", "api_keys", "invites", "former_addresses",
        "former_identities", "barred_identities", "client_profiles", "known_devices",
        "merged_users", "user_search", "directory_people", "user_attributes",
    ]

    /// Each table's rows without what each change moves on.
    private func rows(_ administrator: Postgres) async throws -> [String: String] {
        var found: [String: String] = [:]
        for table in Self.tables {
            let rows = try await administrator.read(
                """
                SELECT coalesce(string_agg(line, E'\\n' ORDER BY line), '') FROM (
                    SELECT (to_jsonb(t) - 'version' - 'updated_at')::text AS line FROM \(table) t
                ) AS lines
                """)
            found["\(table)"] = try #require(rows.first).get(0, as: String.self)
        }
        return found
    }

    private func clear(_ administrator: Postgres) async throws {
        for table in ["user_merges", "api_keys", "invites", "user_search", "users"] as [SQL] {
            _ = try await administrator.read("DELETE FROM \(table) RETURNING 1")
        }
        _ = try await administrator.read("DELETE FROM directory_people RETURNING 1")
    }

    private func make(
        _ round: Int, _ fixture: UserFixture, _ administrator: Postgres,
        _ numbers: inout SeededNumbers
    ) async throws -> [UUID] {
        let tenant = fixture.tenant.id
        var users: [UUID] = []
        for number in 0..<Int.random(in: 2...5, using: &numbers) {
            let email = "u\(number)-\(round)@example.com"
            let id = try #require(UUID(try await fixture.make(email, name: "U\(number)")))
            users.append(id)
            let status = ["pending", "active", "active"].randomElement(using: &numbers) ?? ""
            let role =
                ["member", "member", "manager", "admin"].randomElement(using: &numbers) ?? ""
            let isProved = Bool.random(using: &numbers)
            let now = fixture.service.storage.clock()
            let signedInAt = now.adding(
                seconds: -Int64.random(in: 0..<9 * 86_400, using: &numbers))
            _ = try await administrator.read(
                """
                UPDATE users SET status = \(status), role = \(role),
                    email_verified_at = CASE WHEN \(isProved) THEN \(now)::timestamptz END,
                    password_hash = CASE WHEN \(isProved && Bool.random(using: &numbers))
                        THEN 'hash of ' || email END,
                    pin_hash = CASE WHEN \(Bool.random(using: &numbers))
                        THEN 'pin of ' || email END,
                    last_sign_in_at = CASE WHEN \(Bool.random(using: &numbers))
                        THEN \(signedInAt)::timestamptz END,
                    external_id = CASE WHEN \(Bool.random(using: &numbers)) THEN \(email) END
                WHERE id = \(id) RETURNING 1
                """)
            for sign in 0..<Int.random(in: 0...3, using: &numbers) {
                try await addSignIn(sign, of: id, tenant, administrator, fixture, &numbers)
            }
            try await addThings(of: id, email, tenant, administrator, fixture, &numbers)
        }
        return users
    }

    private func addSignIn(
        _ number: Int, of user: UUID, _ tenant: UUID, _ administrator: Postgres,
        _ fixture: UserFixture, _ numbers: inout SeededNumbers
    ) async throws {
        let identity = UUID.random()
        let provider = ["google", "github", "password"].randomElement(using: &numbers) ?? ""
        let (issuer, subject) = ("https://\(provider).example", "\(number) of \(user)")
        _ = try await administrator.read(
            """
            INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, email_verified,
                created_at, linked_by_type)
            VALUES (\(tenant), \(identity), \(user), \(provider), \(issuer), \(subject),
                \(Bool.random(using: &numbers)), \(fixture.service.storage.clock()),
                CASE WHEN \(Bool.random(using: &numbers)) THEN 'operator' END)
            RETURNING 1
            """)
        let key = fixture.service.storage.personKey(
            provider: provider, issuer: issuer, subject: subject)
        _ = try await administrator.read(
            """
            INSERT INTO directory_people (key, tenant_id)
            SELECT substring(\(key)::bytea FOR 36), \(tenant) RETURNING 1
            """)
        guard Bool.random(using: &numbers) else { return }
        _ = try await administrator.read(
            """
            INSERT INTO identity_aliases (tenant_id, pool, alias, identity_id, created_at)
            VALUES (\(tenant), 'pool', \(identity.description), \(identity),
                \(fixture.service.storage.clock())) RETURNING 1
            """)
    }

    private func addThings(
        of user: UUID, _ email: String, _ tenant: UUID, _ administrator: Postgres,
        _ fixture: UserFixture, _ numbers: inout SeededNumbers
    ) async throws {
        if Bool.random(using: &numbers) {
            let scopes = ["users:read", "users:write", "policy:read", "users:read\",\"smtp"]
            _ = try await fixture.service.makeKey(
                "\"\(scopes.randomElement(using: &numbers) ?? "")\"",
                #","owner":{"type":"user","id":"\#(user)"}"#)
        }
        if Bool.random(using: &numbers) {
            _ = try await administrator.read(
                """
                INSERT INTO former_addresses (tenant_id, email_key, user_id, email, expires_at)
                VALUES (\(tenant), \("old-" + email), \(user), \("old-" + email),
                    now() + interval '9 days') RETURNING 1
                """)
        }
        if Bool.random(using: &numbers) {
            try await fixture.addInvite(email)
            let isAccepted = Bool.random(using: &numbers)
            _ = try await administrator.read(
                """
                UPDATE invites SET status = CASE WHEN \(isAccepted) THEN 'accepted' ELSE status END,
                    accepted_at = CASE WHEN \(isAccepted)
                        THEN \(fixture.service.storage.clock())::timestamptz END,
                    accepted_user_id = CASE WHEN \(isAccepted) THEN \(user)::uuid END
                WHERE email_key = \(email) RETURNING 1
                """)
        }
        if Bool.random(using: &numbers) {
            _ = try await administrator.read(
                """
                INSERT INTO client_profiles (tenant_id, user_id, client, document, updated_at)
                VALUES (\(tenant), \(user), 'immich', '{"a":1}', now()) RETURNING 1
                """)
        }
    }
}
