import CPostgres
import Glibc

/// One blocking connection, for the calling thread alone.
struct MigrationSession {
    let handle: OpaquePointer

    init(conninfo: String) throws(MigrationError) {
        let defaults = [
            ("application_name", "gatehouse-migrate"), ("client_encoding", "UTF8"),
            ("connect_timeout", "5"),
        ]
        switch Conninfo.connect(conninfo, defaults: defaults) {
        case .success(let handle): self.handle = handle
        case .failure(let failure): throw MigrationError(name: "connect", reason: failure.cause)
        }
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
    }

    func close() { PQfinish(handle) }

    /// A pooler that lends out a connection for each transaction would keep the lock of this session, and
    /// its settings, for the next user.
    func requireOwn(conninfo: String) throws(MigrationError) {
        let own = "SELECT pg_backend_pid()::text"
        let other = try MigrationSession(conninfo: conninfo)
        defer { other.close() }
        for _ in 0..<3 {
            let mine = try value(own, [], "connect")
            try other.run("BEGIN", "connect")
            let others = try other.value(own, [], "connect")
            try other.run("ROLLBACK", "connect")
            guard mine != others else {
                throw MigrationError(
                    name: "connect",
                    reason: "connections are lent out for each transaction; is there a pooler in "
                        + "transaction mode? Use a direct URL for GATEHOUSE_MIGRATION_DATABASE_URL")
            }
        }
    }

    /// The role must be the schema's owner, or one of its members.
    func requireOwner() throws(MigrationError) {
        let owner = try value(
            """
            SELECT coalesce((SELECT pg_get_userbyid(relowner) FROM pg_class
                WHERE oid = to_regclass('public.schema_migrations')
                    AND NOT pg_has_role(relowner, 'USAGE')), '')::text
            """, [], "connect")
        if owner.isEmpty { return }
        let role = try value("SELECT current_user::text", [], "connect")
        throw MigrationError(
            name: "connect",
            reason:
                "the schema is \(owner)'s, and GATEHOUSE_MIGRATION_DATABASE_URL leads to \(role)")
    }

    func run(_ text: String, _ name: String) throws(MigrationError) {
        _ = try checked(PQexec(handle, text), name)
    }

    func value(
        _ text: String, _ values: [String], _ name: String
    ) throws(MigrationError) -> String {
        let copies = values.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let types = [UInt32](repeating: TypeOID.text, count: values.count)
        let result = PQexecParams(
            handle, text, Int32(values.count), types, copies.map { UnsafePointer($0) }, nil, nil, 0)
        let rows = try checked(result, name)
        guard let first = rows.first?.first else {
            throw MigrationError(name: name, reason: "no answer")
        }
        return first
    }

    func rows(_ text: String, _ name: String) throws(MigrationError) -> [[String]] {
        try checked(PQexec(handle, text), name)
    }

    private func checked(
        _ result: OpaquePointer?, _ name: String
    ) throws(MigrationError) -> [[String]] {
        defer { PQclear(result) }
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY
        else {
            var error = MigrationError(name: name, reason: String(cString: PQerrorMessage(handle)))
            error.sqlstate = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map {
                String(cString: $0)
            }
            throw error
        }
        return (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { column in
                PQgetvalue(result, row, column).map { String(cString: $0) } ?? ""
            }
        }
    }
}
