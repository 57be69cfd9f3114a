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

/// A tenant into which files are imported.
struct ImportFixture {
    let base: UserFixture
    var service: TestService { base.service }
    var tenant: UUID { base.tenant.id }
    var scope: TenantScope { service.storage.scope(tenant) }

    static func make() async throws -> ImportFixture {
        ImportFixture(base: try await UserFixture.make())
    }

    func post(
        _ query: String, _ text: String, type: String = "application/x-ndjson",
        as credential: TestService.Credential? = nil, fields: [Field] = []
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/tenants/acme/imports?" + query, json: text,
            as: credential ?? .tenantAdmin(base.tenant),
            fields: fields + [Field("content-type", type)])
    }

    /// Imports, lets the job end, and returns its id.
    @discardableResult
    func importing(
        _ text: String, _ query: String = "format=ndjson", type: String = "application/x-ndjson",
        as credential: TestService.Credential? = nil
    ) async throws -> UUID {
        let answer = try await post(query, text, type: type, as: credential)
        #expect(answer.status == 202, "\(answer.text)")
        let id = try #require(answer.json["id"]?.string.flatMap { UUID($0) })
        #expect(answer.first("location") == "/v1/tenants/\(tenant)/jobs/\(id)")
        try await run()
        let job = try await job(id)
        #expect(job.status == .done, "\(job.status) \(job.reason ?? "")")
        return id
    }

    func run() async throws {
        try await JobRunner(application: service.composition.application).round()
    }

    func job(_ id: UUID) async throws -> JobRow { try #require(await scope.job(id)) }

    /// `row status code` of each row.
    func report(_ id: UUID) async throws -> [String] {
        try await scope.results(of: id, after: 0, limit: 1000).map { row in
            "\(row.row) \(row.status.rawValue)" + (row.code.map { " \($0)" } ?? "")
        }
    }

    func undo(_ id: UUID) async throws -> JobRow {
        let answer = try await service.send(
            .post, "/v1/tenants/acme/jobs/\(id)/undo", as: .tenantAdmin(base.tenant))
        #expect(answer.status == 200, "\(answer.text)")
        try await run()
        return try await job(id)
    }

    func user(_ email: String) async throws -> JSONValue {
        let answer = try await base.send(.get, "?q=\(email)")
        let id = try #require(answer.json["items"]?.array?.first?["id"]?.string, "\(email)")
        return try await base.send(.get, "/\(id)").json
    }

    /// Everything that an import may write, but for the audit log, jobs, versions and times.
    func content() async throws -> [String] {
        let rows = try await scope.read(
            """
            SELECT row(id, email, email_key, name, role, status, source, email_verified_at,
                password_hash, external_id, public_attributes, private_attributes, created_at,
                last_sign_in_at, deleted_at)::text FROM users WHERE tenant_id = \(tenant)
            UNION ALL SELECT row(i.*)::text FROM identities i WHERE i.tenant_id = \(tenant)
            UNION ALL SELECT row(a.*)::text FROM user_attributes a WHERE a.tenant_id = \(tenant)
            UNION ALL SELECT row(f.*)::text FROM former_addresses f WHERE f.tenant_id = \(tenant)
            UNION ALL SELECT row(r.*)::text FROM import_rows r WHERE r.tenant_id = \(tenant)
            ORDER BY 1
            """)
        return try rows.map { try $0.get(0) }
    }
}
