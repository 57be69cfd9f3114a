import Postgres

/// Which of this program's migrations the database has.
enum SchemaState: Equatable {
    case none
    /// The names of the files that were not applied.
    case missing([String])
    /// The last file that this program does not know.
    case newer(String)
    case current(files: Int, last: String)

    init(_ app: Postgres, migrations directory: String) async throws {
        let tables = try await app.read("SELECT to_regclass('public.tenants') IS NOT NULL")
        guard try tables.first?.get(0, as: Bool.self) ?? false else {
            self = .none
            return
        }
        let rows = try await app.read("SELECT name FROM schema_migrations")
        let applied = try rows.map { row throws(PostgresError) in try row.get(0, as: String.self) }
        let known = try Migrator.names(in: directory, applied: applied)
        let missing = known.filter { !applied.contains($0) }
        let unknown = applied.filter { !known.contains($0) }
        if !missing.isEmpty {
            self = .missing(missing)
        } else if let last = unknown.max() {
            self = .newer(last)
        } else {
            self = .current(files: applied.count, last: known.last ?? "")
        }
    }

    /// Why this program cannot work with the schema; nil also for a newer schema, which supports
    /// older programs.
    var fault: String? {
        switch self {
        case .none: "the database has no schema; run gatehouse migrate"
        case .missing(let files):
            "the schema is older than this program: \(files.count) migrations are to be applied, "
                + "from \(files[0]); run gatehouse migrate"
        case .newer, .current: nil
        }
    }
}
