import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A service with one tenant, and what the tests ask of it again and again.
struct UserFixture {
    let service: TestService
    let tenant: TenantRow

    static func make(clock: TestClock? = nil) async throws -> UserFixture {
        let (service, tenant) = try await TestService.makeWithTenant(clock: clock)
        return UserFixture(service: service, tenant: tenant)
    }

    func send(
        _ method: Method, _ path: String, json: String? = nil, fields: [Field] = []
    ) async throws -> TestAnswer {
        try await service.send(
            method, "/v1/tenants/acme/users" + path, json: json, as: .tenantAdmin(tenant),
            fields: fields)
    }

    func make(_ email: String, name: String? = nil) async throws -> String {
        let rest = name.map { ",\"name\":\"\($0)\"" } ?? ""
        let answer = try await send(.post, "", json: "{\"email\":\"\(email)\"\(rest)}")
        #expect(answer.status == 201, "\(answer.text)")
        return try #require(answer.json["id"]?.string)
    }

    func emails(_ query: String) async throws -> [String] {
        let answer = try await send(.get, "?" + query)
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["items"]?.array ?? []).compactMap { $0["email"]?.string }
    }

    func addInvite(_ email: String) async throws {
        try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO invites (tenant_id, id, email, email_key, role, delivery, token_hash,
                    inviter_type, inviter_id, inviter_name, expires_at, created_at, updated_at)
                VALUES (\(change.tenant), \(UUID.random()), \(email), \(email), 'member', 'link',
                    \([UInt8](email.utf8)), 'system', '', '', \(change.now.adding(seconds: 600)),
                    \(change.now), \(change.now))
                """)
        }
    }

    func addSession(of user: String) async throws -> UUID {
        let (id, user) = (UUID.random(), try #require(UUID(user)))
        try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO sessions (tenant_id, id, user_id, client, token_hash, created_at,
                    last_seen_at, expires_at)
                VALUES (\(change.tenant), \(id), \(user), 'relate', \([UInt8](id.description.utf8)),
                    \(change.now), \(change.now), \(change.now.adding(seconds: 600)))
                """)
        }
        return id
    }

    func count(_ condition: SQL) async throws -> Int {
        let rows = try await service.storage.scope(tenant.id).read(
            "/* test */ SELECT count(*) FROM \(condition)")
        return try #require(rows.first).get(0)
    }
}
