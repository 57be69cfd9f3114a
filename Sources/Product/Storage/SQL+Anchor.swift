import Postgres
import Text

extension SQL {
    /// For the FROM clause of an INSERT of many rows of one tenant: a row that has the tenant's id
    /// as `anchor.id`. The statement takes `tenant_id` from it and has `WHERE anchor.id =` the
    /// tenant. From this a distributed database knows that all rows belong on that tenant's server.
    package static func anchor(of tenant: UUID) -> SQL {
        tenant == .platform ? "platform_anchor AS anchor" : "tenants AS anchor"
    }
}
