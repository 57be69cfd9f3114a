import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What a merge moves, what it leaves, and what it ends.
@Suite(.serialized, .cleansUp) struct MergeScopeTests {
    private struct Place {
        let fixture: UserFixture
        let ada: UserRow
        let eve: UserRow

        static func make() async throws -> Place {
            let (service, tenant) = try await TestService.makeWithTenant()
            return Place(
                fixture: UserFixture(service: service, tenant: tenant),
                ada: try await service.makeUser(
                    "ada@acme.example", name: "Ada", password: "correct horse battery", in: tenant),
                eve: try await service.makeUser(
                    "eve@acme.example", name: "Eve", role: .manager, password: "of eve alone",
                    in: tenant))
        }

        func merge(_ query: String = "") async throws -> TestAnswer {
            try await fixture.merge(
                winner: ada.id.description, loser: eve.id.description, query: query)
        }

        func change(_ sql: @Sendable (UUID) -> SQL) async throws {
            let statement = sql(fixture.tenant.id)
            try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) {
                _ = try await $0.query(statement)
            }
        }

        func identity(
            _ provider: String, of user: UserRow, isProved: Bool, isLinked: Bool = false
        ) async throws {
            let by = isLinked ? "operator" : nil
            try await change { tenant in
                """
                INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject,
                    email_verified, created_at, linked_by_type)
                VALUES (\(tenant), \(UUID.random()), \(user.id), \(provider), 'https://i.example',
                    \("\(provider) \(isProved) \(isLinked)"), \(isProved),
                    \(fixture.service.storage.clock()), \(by))
                """
            }
        }

        /// The winner's columns of this list, as text.
        func winner(_ columns: SQL) async throws -> String? {
            let rows = try await fixture.service.storage.scope(fixture.tenant.id).read(
                """
                /* test */ SELECT row(\(columns))::text FROM users
                WHERE tenant_id = \(fixture.tenant.id) AND id = \(ada.id)
                """)
            return try rows.first?.get(0)
        }
    }

    @Test func `a password and sign-ins that were never proved do not move`() async throws {
        let place = try await Place.make()
        let (fixture, eve) = (place.fixture, place.eve)
        try await place.change { tenant in
            "UPDATE users SET status = 'pending' WHERE tenant_id = \(tenant) AND id = \(eve.id)"
        }
        try await place.identity("password", of: eve, isProved: true)
        try await place.identity("google", of: eve, isProved: false)
        try await place.identity("github", of: eve, isProved: true)
        try await place.identity("github", of: eve, isProved: false, isLinked: true)
        for query in ["?dry_run=true", ""] {
            let merge = try await place.merge(query)
            #expect(merge.json["moved"]?["identities"] == .int(2), "\(merge.text)")
            #expect(merge.json["left_identities"] == .int(2), "\(merge.text)")
        }
        let own = "identities WHERE user_id = \(place.ada.id)" as SQL
        #expect(try await fixture.count("\(own) AND provider = 'github'") == 2)
        #expect(try await fixture.count(own) == 2)
        #expect(try await fixture.count("identities") == 2)
    }

    @Test func `the winner's name, role, password and PIN stay`() async throws {
        let place = try await Place.make()
        try await place.fixture.service.storage.scope(place.fixture.tenant.id).change(by: .system) {
            for (user, pin) in [(place.ada, "pin of ada"), (place.eve, "pin of eve")] {
                let row = try await $0.lockUser(user.id)
                #expect(try await $0.setPin(pin, of: row, was: nil))
            }
        }
        let own = "name, role, password_hash, pin_hash, email, email_verified_at" as SQL
        let before = try #require(try await place.winner(own))
        #expect(before.contains("pin of ada") && before.contains("$argon2id$"))
        #expect(try await place.merge().status == 201)
        #expect(try await place.winner(own) == before)
    }

    @Test func `a dry run lists the scopes that keys would lose`() async throws {
        let place = try await Place.make()
        _ = try await place.fixture.send(.patch, "/\(place.ada.id)", json: #"{"role":"admin"}"#)
        let key = try await place.fixture.service.makeKey(
            #""users:write","smtp""#, #","owner":{"type":"user","id":"\#(place.eve.id)"}"#)
        let refused = JSONValue.array([
            .object([
                .init("key_id", .string(key.id)),
                .init("scopes", .array([.string("users:write")])),
            ])
        ])
        #expect(try await place.merge("?dry_run=true").json["refused_scopes"] == refused)
        let kept = try await place.fixture.service.send(
            .get, "/v1/tenants/acme/api-keys/\(key.id)", as: .platformOwner)
        #expect(kept.json["scopes"]?.array?.count == 2)
        #expect(try await place.merge().json["refused_scopes"] == refused)
    }

    @Test func `verify and introspect of a moved key name the winner`() async throws {
        let place = try await Place.make()
        let service = place.fixture.service
        let key = try await service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(place.eve.id)"}"#)
        let replica = try service.replica()
        func owners() async throws -> [String?] {
            var found: [String?] = []
            for composition in [nil, replica] {
                let verified = try await service.send(
                    .post, "/v1/api-keys/verify", json: #"{"key":"\#(key.secret)"}"#,
                    as: .platformOwner, to: composition)
                #expect(verified.json["valid"] == .bool(true), "\(verified.text)")
                let introspected = try await service.send(
                    .post, "/oauth/introspect", json: "token=\(key.secret)", as: .platformOwner,
                    fields: [Field("content-type", "application/x-www-form-urlencoded")],
                    to: composition)
                found.append(verified.json["owner"]?["id"]?.string)
                found.append(introspected.json["sub"]?.string)
            }
            return found
        }
        let (ada, eve) = (place.ada.id.description, place.eve.id.description)
        #expect(try await owners() == [eve, eve, eve, eve])
        let merge = try await place.merge().json["id"]?.string ?? ""
        #expect(try await owners() == [ada, ada, ada, ada])
        #expect(try await place.fixture.send(.post, "/merges/\(merge)/undo").status == 200)
        #expect(try await owners() == [eve, eve, eve, eve])
    }

    @Test func `invites, link grants and password links of the loser end`() async throws {
        let place = try await Place.make()
        let (fixture, service, eve) = (place.fixture, place.fixture.service, place.eve.id)
        try await fixture.addInvite("eve@acme.example")
        let grant = try await fixture.send(.post, "/\(eve)/link-grants", json: "{}")
        let link = try await fixture.send(.post, "/\(eve)/password-link", json: "{}")
        #expect(grant.status == 201 && link.status == 201, "\(grant.text) \(link.text)")
        let token = link.json["url"]?.string?.split(separator: "=").last.map(String.init) ?? ""
        #expect(try await place.merge().status == 201)
        #expect(try await fixture.count("link_grants") == 0)
        #expect(try await fixture.count("invites WHERE status = 'revoked'") == 1)
        #expect(try await fixture.count("invites WHERE status = 'pending'") == 0)
        let late = try await service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(token)","password":"a new long passphrase"}"#)
        #expect(!token.isEmpty && (400..<500).contains(late.status), "\(late.text)")
        #expect(try await fixture.count("password_resets WHERE used_at IS NULL") == 0)
    }

    @Test(arguments: ["winner", "loser"])
    func `a deleted user is not merged`(_ who: String) async throws {
        let place = try await Place.make()
        let deleted = who == "winner" ? place.ada.id : place.eve.id
        #expect(try await place.fixture.send(.delete, "/\(deleted)").status == 204)
        let refused = try await place.merge()
        #expect(refused.status == 409 && refused.json["code"]?.string == "conflict")
        #expect(refused.json["conflicting_id"]?.string == deleted.description, "\(refused.text)")
        #expect(try await place.fixture.count("user_merges") == 0)
    }

    @Test func `an undo is refused while another user has the loser's address`() async throws {
        let place = try await Place.make()
        let fixture = place.fixture
        let merge = try await place.merge().json["id"]?.string ?? ""
        // No call gives the address away, so that a row is made to have it.
        let taken = try await fixture.send(.post, "", json: #"{"email":"eve@acme.example"}"#)
        #expect(taken.json["code"]?.string == "email_taken", "\(taken.text)")
        let other = try #require(UUID(try await fixture.make("other@acme.example")))
        func give(_ email: String) async throws {
            try await place.change { tenant in
                """
                UPDATE users SET email = \(email), email_key = \(email)
                WHERE tenant_id = \(tenant) AND id = \(other)
                """
            }
        }
        try await give("eve@acme.example")
        let refused = try await fixture.send(.post, "/merges/\(merge)/undo")
        #expect(refused.status == 409 && refused.json["code"]?.string == "undo_conflict")
        #expect(
            refused.json["conflicts"]?.array?.map { $0["pointer"]?.string } == ["/loser/email"],
            "\(refused.text)")
        #expect(
            try await fixture.send(.get, "/\(place.eve.id)").json["id"]?.string
                == place.ada.id.description)
        try await give("other@acme.example")
        #expect(try await fixture.send(.post, "/merges/\(merge)/undo").status == 200)
    }
}
