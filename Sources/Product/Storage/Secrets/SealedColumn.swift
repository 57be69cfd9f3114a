import Cryptography
import Postgres
import Text

/// A column whose values are encrypted ("sealed"), so that a dump of the database shows no secret.
/// A value can be decrypted only for its own row: its encryption is bound to the column's name, the
/// owner and the row's id.
enum SealedColumn: String, Sendable {
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

/// A kind of sealed values that must be encrypted anew when the secret key is rotated. Values that
/// expire within days (pending sign-ins, stored responses) are not included.
package enum SealedColumnKind: String, CaseIterable, Sendable {
    case providerSecrets = "secrets of providers"
    case clientSecrets = "secrets of clients"
    case hookCredentials = "hook credentials"
    case mail = "letters on their way"
    case totpSeeds = "seeds of authenticator apps"
    case signingKeys = "signing keys"

    /// One sealed value, with the key and the tenant to which it is bound.
    struct Entry {
        var key: String
        var tenant: UUID
        var sealed: [UInt8]

        init(_ row: Row) throws(PostgresError) {
            key = try row.get(0)
            tenant = try row.get(1)
            sealed = try row.get(2)
        }

        var id: UUID { UUID(key) ?? .platform }
    }

    /// A statement that selects every value of this kind, in the columns `key`, `tenant` and
    /// `sealed`.
    private var source: SQL {
        switch self {
        case .providerSecrets:
            """
            SELECT id::text AS key, coalesce(tenant_id, \(UUID.platform)) AS tenant,
                secret AS sealed FROM providers WHERE secret IS NOT NULL
            """
        case .clientSecrets:
            "SELECT id::text AS key, tenant_id AS tenant, sealed FROM client_secrets"
        case .hookCredentials:
            "SELECT id::text AS key, \(UUID.platform) AS tenant, sealed FROM hook_credentials"
        case .mail:
            """
            SELECT id::text AS key, tenant_id AS tenant, letter AS sealed FROM mail
            WHERE letter IS NOT NULL
            """
        case .totpSeeds:
            """
            SELECT operator_id::text AS key, \(UUID.platform) AS tenant, seed AS sealed
            FROM operator_totp
            """
        case .signingKeys:
            "SELECT kid AS key, \(UUID.platform) AS tenant, sealed FROM signing_keys"
        }
    }

    /// A statement that selects a batch of the values that were encrypted with a secret key whose
    /// id is not in `ids`.
    func entries(not ids: [[UInt8]], most: Int) -> SQL {
        """
        SELECT key, tenant, sealed FROM (\(source)) AS sealed_rows
        WHERE NOT substring(sealed FOR 4) = ANY (\(ids)) ORDER BY key LIMIT \(most)
        """
    }

    func count(under id: [UInt8]) -> SQL {
        "SELECT count(*) FROM (\(source)) AS sealed_rows WHERE substring(sealed FOR 4) = \(id)"
    }

    /// The table and the column of the sealed values.
    private var column: (table: String, name: String) {
        switch self {
        case .providerSecrets: ("providers", "secret")
        case .clientSecrets: ("client_secrets", "sealed")
        case .hookCredentials: ("hook_credentials", "sealed")
        case .mail: ("mail", "letter")
        case .totpSeeds: ("operator_totp", "seed")
        case .signingKeys: ("signing_keys", "sealed")
        }
    }

    /// A statement that replaces a sealed value, but changes nothing if the stored value is no
    /// longer that of `entry`.
    func replace(_ entry: Entry, by sealed: [UInt8]) -> SQL {
        let row: SQL =
            switch self {
            case .signingKeys: "kid = \(entry.key)"
            case .totpSeeds: "operator_id = \(entry.id)"
            case .mail: "tenant_id = \(entry.tenant) AND id = \(entry.id)"
            case .providerSecrets, .clientSecrets, .hookCredentials: "id = \(entry.id)"
            }
        return """
            UPDATE \(raw: column.table) SET \(raw: column.name) = \(sealed)
            WHERE \(row) AND \(raw: column.name) = \(entry.sealed)
            """
    }

    /// A statement that deletes the values that were encrypted with a secret key whose id is not in
    /// `ids`.
    func forget(except ids: [[UInt8]]) -> SQL {
        let lost: SQL = "NOT substring(\(raw: column.name) FOR 4) = ANY (\(ids))"
        switch self {
        case .providerSecrets:
            return "UPDATE providers SET secret = NULL WHERE secret IS NOT NULL AND \(lost)"
        case .mail:
            return """
                UPDATE mail SET letter = NULL, next_at = NULL, ended_at = now(), failure = 'dropped'
                WHERE letter IS NOT NULL AND \(lost)
                """
        case .clientSecrets, .hookCredentials, .signingKeys, .totpSeeds:
            return "DELETE FROM \(raw: column.table) WHERE \(lost)"
        }
    }

    func open(_ entry: Entry, in database: Database) throws(CryptographyError) -> [UInt8] {
        try sealer(database).open(entry.sealed, context: context(entry))
    }

    func seal(
        _ plain: [UInt8], _ entry: Entry, in database: Database
    ) throws(CryptographyError) -> [UInt8] {
        try sealer(database).seal(plain, context: context(entry))
    }

    private func sealer(_ database: Database) -> Sealer {
        self == .signingKeys ? database.signingKeySealer : database.sealer
    }

    private func context(_ entry: Entry) -> [UInt8] {
        switch self {
        case .providerSecrets: SealedColumn.providerSecret.context(entry.tenant, entry.id)
        case .clientSecrets: SealedColumn.clientSecret.context(entry.tenant, entry.id)
        case .hookCredentials: HookCredentialRow.context(entry.id)
        case .mail: SealedColumn.mail.context(entry.tenant, entry.id)
        case .totpSeeds: SealedColumn.totpSeed.context(entry.tenant, entry.id)
        case .signingKeys: Array(entry.key.utf8)
        }
    }
}
