import Cryptography
import Text

/// A column whose values are sealed, so that a dump of the database shows no secret. Each value
/// opens only in its own row: the seal covers the column's name, the owner and the row's id.
package enum SealedColumn: String, Sendable {
    case providerSecret = "providers.secret"
    case mail = "mail.message"
    case clientSecret = "client_secrets.sealed"
    case totpSeed = "operator_totp.seed"

    func context(_ tenant: UUID, _ row: UUID) -> [UInt8] {
        Array("\(rawValue) \(tenant) \(row)".utf8)
    }
}

extension Database {
    func seal(
        _ plain: [UInt8], _ column: SealedColumn, of tenant: UUID, row: UUID
    ) throws(CryptographyError) -> [UInt8] {
        try sealer.seal(plain, context: column.context(tenant, row))
    }

    func open(
        _ sealed: [UInt8], _ column: SealedColumn, of tenant: UUID, row: UUID
    ) throws(CryptographyError) -> [UInt8] {
        try sealer.open(sealed, context: column.context(tenant, row))
    }
}
