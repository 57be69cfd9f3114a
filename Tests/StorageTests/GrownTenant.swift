import Storage
import TestSupport

/// Tenants as a few years of use leave them.
enum GrownTenant {
    /// Tenants of 6,000 users each, of whom the first 5,000 came in together; one of them.
    static func make(_ service: TestService, tenants: Int) async throws -> TenantScope {
        var scope = service.storage.platformScope
        for number in 1...tenants {
            let tenant = try await service.makeTenant("grown-\(number)")
            scope = service.storage.scope(tenant.id)
            try Shell.run([
                "psql", "-X", "-q", "-d", service.database.administrator, "-v",
                "tenant=\(tenant.id)", "-v", "first=1", "-v", "last=6000", "-f",
                "\(TestCluster.root)/deploy/lib/growth.sql",
            ])
        }
        return scope
    }
}
