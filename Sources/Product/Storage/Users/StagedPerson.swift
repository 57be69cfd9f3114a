import Cryptography
import Postgres
import Text

/// By what the rows that wait in imports name a person: addresses, external ids and sign-ins, each as
/// the first 8 bytes of a hash.
enum StagedPerson {
    static func key(email key: String) -> Int64 { hash("email", key) }

    static func key(externalID: String) -> Int64 { hash("id", externalID) }

    /// By the bytes of the three parts.
    static func key(provider: String, issuer: String, subject: String) -> Int64 {
        hash("sign-in", provider, issuer, subject)
    }

    /// A condition: the rows `t` that have one of these keys or its complement, as those with an
    /// unverified address have. One probe of the index for each import: the planner, whose figures of
    /// a new import are old, would else read the whole import.
    static func rows(_ keys: [Int64], in tenant: UUID) -> SQL {
        """
        (t.import_id, t.row) IN (SELECT f.import_id, f.row FROM imports m, LATERAL (
            SELECT k.import_id, k.row FROM import_keys k WHERE k.tenant_id = \(tenant)
                AND k.import_id = m.id
                AND k.key = ANY (\(keys + keys.map { ~$0 })::bigint[])) AS f
            WHERE m.tenant_id = \(tenant))
        """
    }

    private static func hash(_ parts: String...) -> Int64 {
        let text = parts.joined(separator: "\u{0}")
        return SHA256.hash(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}

extension UserRow {
    /// The external id and the sign-ins.
    var stagedKeys: [Int64] {
        (externalID.map { [StagedPerson.key(externalID: $0)] } ?? [])
            + identities.map {
                StagedPerson.key(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
            }
    }
}
