import Domain
import Postgres
import Text

extension Change {
    func readIdentities(
        _ identities: [ImportedIdentity], into facts: inout ImportFacts
    ) async throws {
        for table in ["identities", "barred_identities"] {
            let rows = try await query(
                """
                SELECT w.provider, w.issuer, w.subject, t.user_id
                FROM unnest(\(identities.map(\.provider))::text[],
                    \(identities.map(\.issuer))::text[], \(identities.map(\.subject))::text[])
                    AS w (provider, issuer, subject), LATERAL (
                    SELECT user_id FROM \(raw: table) WHERE tenant_id = \(tenant)
                        AND provider = w.provider AND issuer = w.issuer
                        AND subject = w.subject LIMIT 1) AS t
                """)
            for row in rows {
                let key = ImportedIdentity(
                    provider: try row.get(0), issuer: try row.get(1), subject: try row.get(2)
                ).key
                if table == "identities" {
                    facts.holders[key] = try row.get(3)
                } else {
                    facts.barred.insert(key)
                }
            }
        }
    }

    /// People who were removed for good do not come back with an old file.
    func readTombstones(
        _ addresses: [String], _ identities: [ImportedIdentity], into facts: inout ImportFacts,
        _ database: Database
    ) async throws {
        let people = addresses.map { database.personKey(emailKey: $0) }
        let signIns = identities.map {
            database.personKey(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
        }
        let rows = try await query(
            """
            SELECT key FROM tombstones WHERE tenant_id = \(tenant) AND expires_at > \(now)
                AND key = ANY (person_keys(\(Array((people + signIns).joined()))))
            """)
        guard !rows.isEmpty else { return }
        var buried: Set<[UInt8]> = []
        for row in rows { buried.insert(try row.get(0)) }
        func isBuried(_ keys: [UInt8]) -> Bool {
            stride(from: 0, to: keys.count, by: Database.personKeyLength).contains {
                buried.contains(Array(keys[$0..<$0 + Database.personKeyLength]))
            }
        }
        facts.deleted.formUnion(zip(addresses, people).filter { isBuried($1) }.map(\.0))
        facts.barred.formUnion(zip(identities, signIns).filter { isBuried($1) }.map(\.0.key))
    }
}
