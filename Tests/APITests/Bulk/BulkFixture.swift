import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A tenant, and actions on many of its objects.
struct BulkFixture {
    let base: UserFixture
    let clock: TestClock
    var service: TestService { base.service }
    var owner: TestService.Credential { .tenantAdmin(base.tenant) }

    static func make() async throws -> BulkFixture {
        let clock = TestClock()
        return BulkFixture(base: try await UserFixture.make(clock: clock), clock: clock)
    }

    func act(
        _ body: String, on noun: String = "users", query: String = "",
        as credential: TestService.Credential? = nil
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/tenants/acme/\(noun)/actions\(query)", json: body,
            as: credential ?? owner)
    }

    /// An active user of this role, by SQL.
    func user(_ email: String, _ role: UserRole = .member) async throws -> UUID {
        let id = try #require(UUID(try await base.make(email)))
        try await service.storage.scope(base.tenant.id).change(by: .system) { change in
            _ = try await change.query(
                """
                UPDATE users SET status = 'active', role = \(role)
                WHERE tenant_id = \(base.tenant.id) AND id = \(id)
                """)
        }
        return id
    }

    /// Users `n@acme.example`; their ids, the oldest number first.
    func users(_ count: Int) async throws -> [UUID] {
        try await service.storage.addUsers(1...count, to: base.tenant.id)
        return try await service.storage.scope(base.tenant.id).read(
            """
            /* test */ SELECT id FROM users WHERE tenant_id = \(base.tenant.id)
                AND email_key LIKE '%@acme.example' ORDER BY length(email_key), email_key
            """
        ).map { try $0.get(0) }
    }

    func status(_ user: UUID) async throws -> User.Status? {
        try await service.storage.scope(base.tenant.id).user(user)?.status
    }

    func count(_ status: User.Status) async throws -> Int {
        try await base.count("users WHERE status = \(status.rawValue)")
    }

    /// A key's secret and id.
    func key(
        _ scopes: [String], owner: UUID? = nil
    ) async throws -> (secret: String, id: String) {
        let list = scopes.map { "\"\($0)\"" }.joined(separator: ",")
        let who = owner.map { #","owner":{"type":"user","id":"\#($0)"}"# } ?? ""
        let made = try await service.manage(
            .post, "/v1/tenants/acme/api-keys", #"{"name":"k","scopes":[\#(list)]\#(who)}"#)
        return (try #require(made["key"]?.string), try #require(made["id"]?.string))
    }

    /// Runs every job, and answers with this one.
    func finish(_ answer: TestAnswer) async throws -> TestAnswer {
        let path = try #require(answer.first("location"))
        try await service.composition.jobs.round()
        return try await service.send(.get, path, as: owner)
    }

    func undo(_ job: JSONValue) async throws -> TestAnswer {
        let id = try #require(job["id"]?.string)
        let begun = try await service.send(
            .post, "/v1/tenants/acme/jobs/\(id)/undo", as: owner)
        guard begun.status == 200 else { return begun }
        try await service.composition.jobs.round()
        return try await service.send(.get, "/v1/tenants/acme/jobs/\(id)", as: owner)
    }
}

extension TestAnswer {
    /// `id status` or `id status code` of each item.
    var outcomes: [String: String] {
        var found: [String: String] = [:]
        for item in json["items"]?.array ?? [] {
            let words = [item["status"]?.string, item["code"]?.string].compactMap { $0 }
            found[item["id"]?.string ?? ""] = words.joined(separator: " ")
        }
        return found
    }
}

func list(_ ids: [UUID]) -> String { ids.map { "\"\($0)\"" }.joined(separator: ",") }
