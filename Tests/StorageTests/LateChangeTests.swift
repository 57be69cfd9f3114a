import Postgres
import Runtime
import Storage
import TestSupport
import Testing

/// A request that was answered as one that changed nothing changes nothing.
@Suite(.cleansUp) struct LateChangeTests {
    @Test func `a change whose request was answered before is not committed`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        _ = try await service.makeUser(
            "ada@acme.example", name: "Ada", password: "a long enough one", in: tenant)
        let scope = service.storage.scope(tenant.id)
        let deadline = Deadline(since: Deadline.now, lasting: .seconds(60))
        await Deadline.$current.withValue(deadline) {
            await #expect {
                try await scope.change(by: .system) { change in
                    try await change.query(
                        "UPDATE users SET name = 'Late' WHERE tenant_id = \(tenant.id)")
                    _ = deadline.expire()
                }
            } throws: {
                ($0 as? PostgresError)?.kind == .timeout
            }
        }
        let rows = try await scope.read("SELECT name FROM users WHERE name = 'Late'")
        #expect(rows.isEmpty)
    }
}
