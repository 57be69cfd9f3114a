import Postgres
import Storage
import TestSupport
import Testing

/// The files for a distributed database are applied where Citus is; here they are held against the schema.
@Suite(.cleansUp) struct DistributionTests {
    /// Tables with a tenant's rows that stay on the coordinator: what is read before the tenant is known, and what
    /// belongs to operators or providers.
    private static let ofCoordinator: Set = [
        "directory_domains", "directory_hosts", "directory_locators", "directory_logos",
        "directory_people",
        "directory_slugs", "operators", "pending_choices", "providers", "provisioning_retries",
        "reservations",
        "reset_asks", "shown_upstreams",
    ]

    @Test func `every table of tenants is named by a file for a distributed database`() async throws
    {
        let database = try await TestDatabase.make()
        let rows = try await database.client(as: database.administrator).query(
            """
            SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
                AND a.attname = 'tenant_id' AND NOT a.attisdropped
            """)
        let tables = Set(try rows.map { try $0.get(0, as: String.self) })
        let texts = try Shell.run([
            "sh", "-c", "cat '\(TestCluster.root)/Migrations/distributed/'*.sql",
        ])
        let names = Set(texts.split(separator: "'").map(String.init))
        #expect(tables.subtracting(Self.ofCoordinator).subtracting(names) == [])
        #expect(Self.ofCoordinator.subtracting(tables) == [])
    }

    /// Where the tables are distributed, all others have it too.
    @Test func `the key of each such table has the tenant`() async throws {
        let database = try await TestDatabase.make()
        let rows = try await database.client(as: database.administrator).query(
            """
            SELECT i.indexrelid::regclass::text FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND i.indisunique
                AND NOT a.attnum = ANY (i.indkey) AND c.relname <> ALL (\(Array(Self.ofCoordinator)))
            ORDER BY 1
            """)
        let keys = try rows.map { try $0.get(0, as: String.self) }
        let wanted =
            try TestCluster.shared.get().isDistributed
            ? ["directory_external_ids_pkey"]
            : ["client_secrets_id_key", "idempotency_pkey", "mail_pkey"]
        #expect(keys == wanted)
    }
}
