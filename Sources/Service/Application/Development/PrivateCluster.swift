import Cryptography
import Glibc
import Text

/// A private PostgreSQL cluster: the installed programs, a unix socket in a directory that only
/// this user may enter, no port. If root starts it, it belongs to the user `postgres`.
struct PrivateCluster {
    let directory: String
    let socket: String
    private let programs: String
    private let user: String?

    /// Chooses the cluster's directory for this data directory; see `moved` for when it is
    /// elsewhere.
    init(in data: DataDirectory) throws {
        programs = try Self.findPrograms()
        user = getuid() == 0 ? "postgres" : nil
        var directory = data.path + "/postgres"
        if let user, !Self.prepare(directory, for: user) {
            let hash = Hex.encode(SHA256.hash(Array(data.path.utf8))).prefix(16)
            mkdir("/var/lib/gatehouse", 0o755)
            directory = "/var/lib/gatehouse/\(hash)"
            guard Self.prepare(directory, for: user) else {
                throw DataDirectory.Failure(
                    description: "the user \(user) can reach neither \(data.path) nor \(directory)")
            }
        }
        self.directory = directory
        let hash = Hex.encode(SHA256.hash(Array(directory.utf8))).prefix(12)
        socket = "/tmp/gatehouse-\(hash)"
    }

    /// True if the cluster could not be placed in the data directory.
    func moved(from data: DataDirectory) -> Bool { !directory.hasPrefix(data.path + "/") }

    /// The libpq conninfo for one of the cluster's roles.
    func conninfo(role: String, database: String = "gatehouse") -> String {
        Self.conninfo(socket, role: role, database: database)
    }

    /// `socket`: the folder of a running cluster's socket.
    static func conninfo(
        _ socket: String, role: String, database: String = "gatehouse"
    ) -> String {
        "host=\(socket) user=\(role) dbname=\(database)"
    }

    /// Creates the cluster at the first start, starts it, and waits until it answers.
    func start() throws {
        if DataDirectory.read(directory + "/PG_VERSION") == nil {
            _ = try Subprocess([
                programs + "/initdb", "-D", directory, "-U", "postgres", "-A", "trust",
                "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums",
            ]).run(as: user)
        }
        try makeSocketDirectory()
        // Stop what a killed run left; the data directory's lock proves that it is ours.
        _ = try? pgCtl(["stop", "-m", "fast", "-w"])
        let options =
            "-k \(socket) -c listen_addresses='' -c max_connections=100 -c unix_socket_permissions=0700"
        _ = try pgCtl(["start", "-w", "-t", "60", "-l", directory + "/log", "-o", options])
        try makeRoles()
    }

    func stop() {
        // A failure loses nothing: PostgreSQL recovers at the next start.
        _ = try? pgCtl(["stop", "-m", "fast", "-w"])
        rmdir(socket)
    }

    private func pgCtl(_ arguments: [String]) throws -> String {
        // pg_ctl passes its output to the server that it starts, so it must not inherit our pipe.
        let command = ([programs + "/pg_ctl", "-D", directory] + arguments).map(Self.quote)
        return try Subprocess(["sh", "-c", command.joined(separator: " ") + " >/dev/null 2>&1"])
            .run(as: user)
    }

    private func makeSocketDirectory() throws {
        guard let user else {
            mkdir(socket, 0o700)
            return
        }
        guard Self.prepare(socket, for: user) else {
            throw DataDirectory.Failure(description: "cannot make \(socket)")
        }
    }

    private func makeRoles() throws {
        try sql(
            "postgres",
            """
            DO $$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'gatehouse_owner') THEN
                CREATE ROLE gatehouse_owner LOGIN;
                CREATE ROLE gatehouse_app LOGIN NOINHERIT NOBYPASSRLS;
                CREATE ROLE gatehouse_platform LOGIN NOBYPASSRLS;
                GRANT gatehouse_platform TO gatehouse_app;
            END IF;
            END $$
            """)
        let exists = try sql("postgres", "SELECT 1 FROM pg_database WHERE datname = 'gatehouse'")
        if !exists.contains("1") {
            try sql("postgres", "CREATE DATABASE gatehouse OWNER gatehouse_owner")
        }
    }

    @discardableResult
    private func sql(_ database: String, _ text: String) throws -> String {
        try Subprocess([
            programs + "/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
            "-d", conninfo(role: "postgres", database: database), "-c", text,
        ]).run(as: user)
    }

    /// Creates a directory (0700) that the user owns and can enter; false if that fails.
    private static func prepare(_ path: String, for user: String) -> Bool {
        guard let entry = getpwnam(user) else { return false }
        if mkdir(path, 0o700) != 0, errno != EEXIST { return false }
        guard chown(path, entry.pointee.pw_uid, entry.pointee.pw_gid) == 0 else { return false }
        return (try? Subprocess(["test", "-w", path, "-a", "-x", path]).run(as: user)) != nil
    }

    private static func findPrograms() throws -> String {
        for version in stride(from: 19, through: 15, by: -1) {
            let path = "/usr/lib/postgresql/\(version)/bin"
            if access(path + "/initdb", X_OK) == 0 { return path }
        }
        throw DataDirectory.Failure(
            description: "PostgreSQL 15 or newer is not installed (Debian: postgresql)")
    }

    private static func quote(_ word: String) -> String {
        var quoted = "'"
        for character in word.unicodeScalars {
            quoted += character == "'" ? "'\\''" : String(character)
        }
        return quoted + "'"
    }
}
