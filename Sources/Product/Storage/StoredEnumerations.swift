import Domain
import Postgres

// Enumerations that are columns. They are stored by raw value, as the column's CHECK lists them.

extension User.Status: PostgresEncodable, PostgresDecodable {}
extension User.Source: PostgresEncodable, PostgresDecodable {}
extension UserRole: PostgresEncodable, PostgresDecodable {}
extension Tenant.Status: PostgresEncodable, PostgresDecodable {}
extension TenantDomain.Status: PostgresEncodable, PostgresDecodable {}
extension TenantDomain.Mode: PostgresEncodable, PostgresDecodable {}
extension Operator.Role: PostgresEncodable, PostgresDecodable {}
extension Operator.Status: PostgresEncodable, PostgresDecodable {}
extension Invite.Status: PostgresEncodable, PostgresDecodable {}
extension Invite.Delivery: PostgresEncodable, PostgresDecodable {}
