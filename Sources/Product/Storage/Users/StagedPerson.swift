import Cryptography
import Postgres
import Text

/// By what the rows that wait in imports name a person: addresses, external ids and sign-ins, each as
/// the first 8 bytes of a hash.
enum StagedPerson {
    static func key(email key: String) -> Int64 { hash("email", key) }

    static func key(externalID: String) -> Int64 { hash("id", externalID) }

    /// The id that a row has, which may be a user's.
    static func key(id: String) -> Int64 {
        hash("sign-in", "", "", UUID(id)?.description ?? id)
    }

    /// By the bytes of the three parts.
    static func key(provider: String, issuer: String, subject: String) -> Int64 {
        hash("sign-in", provider, issuer, subject)
    }

    /// A condition: the rows `t` that have one of these keys or its complement, as those with an
    /// unverified address have. The keys are looked up first, each by one probe of the index in each
    /// import, and the rows then by their places: nothing is left to the planner, whose figures of a
    /// new import are old, and who would read each import once for each of its rows.
    static func rows(_ keys: [Int64], in tenant: UUID) -> SQL {
        """
        t.ctid = ANY (ARRAY(SELECT f.place FROM imports m
            CROSS JOIN unnest(\(keys + keys.map { ~$0 })::bigint[]) AS w (key)
            CROSS JOIN LATERAL (SELECT k.row FROM import_keys k WHERE k.tenant_id = \(tenant)
                AND k.import_id = m.id AND k.key = w.key OFFSET 0) AS n
            CROSS JOIN LATERAL (SELECT r.ctid AS place FROM import_rows r
                WHERE r.tenant_id = \(tenant) AND r.import_id = m.id AND r.row = n.row
                OFFSET 0) AS f
            WHERE m.tenant_id = \(tenant)))
        """
    }

    private static func hash(_ parts: String...) -> Int64 {
        let text = parts.joined(separator: "\u{0}")
        return SHA256.hash(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}

extension UserRow {
    /// The id, the external id and the sign-ins.
    var stagedKeys: [Int64] {
        [StagedPerson.key(id: id.description)]
            + (externalID.map { [StagedPerson.key(externalID: $0)] } ?? [])
            + identities.map {
                StagedPerson.key(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
            }
    }
}
