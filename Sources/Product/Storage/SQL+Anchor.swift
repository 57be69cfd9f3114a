import Postgres
import Text

extension SQL {
    /// For the FROM of an INSERT of many rows of one tenant: a row with the tenant's id, as `anchor.id`. The statement
    /// takes `tenant_id` from it and says `WHERE anchor.id =` the tenant: so a database of several servers knows that
    /// all rows lie with that tenant.
    package static func anchor(of tenant: UUID) -> SQL {
        tenant == .platform ? "platform_anchor AS anchor" : "tenants AS anchor"
    }
}
