import Domain
import HTTP
import JSON
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing
import Text

/// A tenant with time at hand, and a key of the platform, which outlives console sessions.
struct DeletionFixture {
    /// Seconds for which a deleted user or tenant can be restored.
    static let days: Int64 = 30 * 86_400

    let service: TestService
    let tenant: TenantRow
    let clock: TestClock
    let key: String

    static func make() async throws -> DeletionFixture {
        let clock = TestClock()
        let (service, tenant) = try await TestService.makeWithTenant(clock: clock)
        let key = try await service.manage(
            .post, "/v1/api-keys",
            #"{"name":"days","scopes":["tenants:read","tenants:write","users:read","#
                + #""users:write"]}"#)
        return DeletionFixture(
            service: service, tenant: tenant, clock: clock,
            key: try #require(key["key"]?.string))
    }

    func send(_ method: Method, _ path: String, _ json: String? = nil) async throws
        -> TestAnswer
    {
        try await service.send(
            method, "/v1/tenants/acme\(path)", json: json, as: .bearer(key))
    }

    /// What the 409 of a purge asks to be confirmed with.
    func confirm(_ path: String = "") async throws -> String {
        let asked = try await send(.delete, "\(path)?purge=true")
        #expect(asked.status == 409)
        #expect(asked.json["code"]?.string == "confirm_required", "\(asked.text)")
        return try #require(asked.json["confirm"]?.string)
    }

    func make(_ email: String) async throws -> String {
        let made = try await send(.post, "/users", #"{"email":"\#(email)","name":"Ada"}"#)
        return try #require(made.json["id"]?.string, "\(made.text)")
    }

    func delete(_ id: String) async throws {
        #expect(try await send(.delete, "/users/\(id)").status == 204)
    }

    /// How many rows of a table one round of the sweep removes.
    func sweep(_ swept: String = "users") async throws -> Int {
        let purged = Mutex(0)
        let isDone = try await service.storage.sweep { table, rows in
            if table == swept { purged.withLock { $0 += rows } }
        }
        #expect(isDone)
        return purged.withLock { $0 }
    }

    /// Names of tables that have one of the texts in a row.
    func tables(with texts: [String]) async throws -> [String] {
        try await administrator { administrator in
            var found: [String] = []
            let names = try await administrator.read(
                """
                SELECT relname::text FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1
                """)
            for row in names {
                let name: String = try row.get(0)
                let patterns = texts.map { "%\($0)%" }
                let rows = try await administrator.read(
                    "SELECT 1 FROM \(raw: name) t WHERE t::text LIKE ANY (\(patterns)) LIMIT 1")
                if !rows.isEmpty { found.append(name) }
            }
            return found
        }
    }

    func administrator<Value: Sendable>(
        _ body: (Postgres) async throws -> Value
    ) async throws -> Value {
        try await body(service.database.client(as: service.database.administrator))
    }
}
