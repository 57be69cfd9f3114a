import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// The numbers of the first page.
struct OverviewTests {
    @Test func `of many users the overview says about how many, without reading them`() async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        try await service.storage.addUsers(1...9_999, to: acme.id)
        let few = try await service.storage.overview(tenant: nil, buckets: 7, of: 86_400)
        #expect(few.users == ListTotal(9_999, exact: true))
        try await service.storage.addUsers(10_000...30_000, to: acme.id)
        try Shell.run([
            "psql", "-X", "-q", "-d", service.database.administrator, "-c", "ANALYZE users",
        ])
        let many = try await service.storage.overview(tenant: nil, buckets: 7, of: 86_400)
        #expect(!many.users.exact)
        #expect((29_000...31_000).contains(many.users.value), "\(many.users.value)")
        let own = try await service.storage.overview(tenant: acme.id, buckets: 7, of: 86_400)
        #expect(own.users == ListTotal(30_000, exact: true))
        await service.stop()
    }
}
