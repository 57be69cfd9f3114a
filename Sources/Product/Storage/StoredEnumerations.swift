import Domain
import Postgres

// The enumerations that columns store as raw values. Each column's CHECK lists the same values.

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
