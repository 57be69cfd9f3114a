import Domain
import Postgres
import Text

extension Change {
    /// On the importer's word, as those that are linked by hand. What comes with an unverified address
    /// may be another person's: it counts as linked by no one, and in this tenant alone.
    func insertIdentities(
        _ identities: [(user: UUID, identity: ImportedIdentity, isVerified: Bool)],
        by rules: ImportRules, _ database: Database
    ) async throws {
        let ids = identities.map { _ in UUID.random() }
        queryLater(
            """
            INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, email,
                created_at, tenants_word, linked_by_type, linked_by_id)
            SELECT anchor.id, i.id, i.user_id, i.provider, i.issuer, i.subject,
                nullif(i.email, ''), \(now), \(rules.isAssertedByTenant) OR i.verified = '',
                CASE WHEN i.verified <> '' THEN \(actor.type) END,
                CASE WHEN i.verified <> '' THEN \(actor.id) END
            FROM \(SQL.anchor(of: tenant)), unnest(\(ids)::uuid[],
                \(identities.map(\.user))::uuid[], \(identities.map(\.identity.provider))::text[],
                \(identities.map(\.identity.issuer))::text[],
                \(identities.map(\.identity.subject))::text[],
                \(identities.map { $0.identity.email ?? "" })::text[],
                \(identities.map { $0.isVerified ? "yes" : "" })::text[])
                AS i (id, user_id, provider, issuer, subject, email, verified)
            WHERE anchor.id = \(tenant)
            """)
        let keys = identities.map(\.identity).map {
            database.personKey(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
        }
        queryLater("SELECT directory_add_people(\(keys))")
        try await audit(
            .identityLinked,
            ofEach: zip(ids, identities).map { id, made in
                AuditTarget("identity", id, "\(made.identity.provider) \(made.identity.subject)")
            })
    }

    func indexAll(
        _ users: [(new: NewUser, createdAt: Timestamp)], by schema: AttributeSchema
    ) {
        guard !schema.indexed.isEmpty else { return }
        let words = users.flatMap { user in
            schema.indexedWords(of: user.new.attributes).map {
                (user: user.new.id, name: $0.name, word: $0.word, createdAt: user.createdAt)
            }
        }
        if words.isEmpty { return }
        queryLater(
            """
            INSERT INTO user_attributes (tenant_id, user_id, name, value, created_at)
            SELECT anchor.id, w.user_id, w.name, w.value, w.created_at
            FROM \(SQL.anchor(of: tenant)), unnest(\(words.map(\.user))::uuid[], \(words.map(\.name))::text[],
                \(words.map(\.word))::text[], \(words.map(\.createdAt))::timestamptz[])
                AS w (user_id, name, value, created_at)
            WHERE anchor.id = \(tenant)
            """)
    }
}
