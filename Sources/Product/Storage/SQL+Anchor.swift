import Postgres
import Text

extension SQL {
    /// The table to put into the FROM clause of an INSERT that writes many rows of one tenant. The
    /// statement takes `tenant_id` from `anchor.id` and has the condition `WHERE anchor.id =` the
    /// tenant. From this condition a distributed database knows that all rows belong on that
    /// tenant's server.
    package static func anchor(of tenant: UUID) -> SQL {
        tenant == .platform ? "platform_anchor AS anchor" : "tenants AS anchor"
    }
}
