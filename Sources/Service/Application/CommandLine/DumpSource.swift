import Networking
import Postgres

/// The database that is dumped, as it is at one moment: the dump and the count of its rows see the same.
struct DumpSource: Sendable {
    let conninfo: String
    /// For `pg_dump --snapshot`; valid until `close`.
    let snapshot: String
    private let client: Postgres
    private let open: OpenTransaction

    /// Throws `BackupDrill.Refused` if row-level security would leave the dump without rows.
    static func open(_ conninfo: String, on loop: EventLoop) async throws -> DumpSource {
        let client = BackupDrill.client(conninfo, on: loop)
        do {
            try await requireEveryRow(client)
            let open = try await client.begin(settings: BackupDrill.steady)
            let rows = try await open.transaction.query("SELECT pg_export_snapshot()")
            guard let snapshot = try rows.first?.get(0, as: String.self) else {
                throw BackupDrill.Refused(description: "PostgreSQL exports no snapshot")
            }
            return DumpSource(conninfo: conninfo, snapshot: snapshot, client: client, open: open)
        } catch {
            await client.close()
            throw error
        }
    }

    func contents() async throws -> [String: TableContents] {
        try await TableContents.all(open.transaction)
    }

    func close() async {
        await open.rollback()
        await client.close()
    }

    private static func requireEveryRow(_ client: Postgres) async throws {
        let rows = try await client.read(
            """
            SELECT current_user::text, rolsuper OR rolbypassrls
            FROM pg_roles WHERE rolname = current_user
            """)
        guard let row = rows.first, try !row.get(1, as: Bool.self) else { return }
        throw BackupDrill.Refused(
            description: """
                GATEHOUSE_BACKUP_DATABASE_URL is \(try row.get(0, as: String.self)), from which \
                row-level security hides every row: its dump would be empty. Use gatehouse_backup, \
                which deploy/roles.sql creates
                """)
    }
}
