import Cryptography
import Glibc
import Runtime
import Text

/// A private PostgreSQL cluster that runs the installed PostgreSQL programs. It opens no port, only
/// a unix socket in a directory that only the cluster's user can enter. This user is `postgres` if
/// root starts the cluster, otherwise the user who starts it.
struct PrivateCluster {
    let directory: String
    let socket: String
    private let programs: String
    private let user: String?

    /// Chooses the cluster's directory, inside the data directory if possible. `moved` returns
    /// whether it is elsewhere.
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

    /// Whether the cluster is outside the data directory, because it could not be placed there.
    func moved(from data: DataDirectory) -> Bool { !directory.hasPrefix(data.path + "/") }

    /// Returns the libpq connection string for one of the cluster's roles.
    func conninfo(role: String, database: String = "gatehouse") -> String {
        Self.conninfo(socket, role: role, database: database)
    }

    /// Returns the connection string for a role of a running cluster. `socket` is the folder that
    /// contains its socket.
    static func conninfo(
        _ socket: String, role: String, database: String = "gatehouse"
    ) -> String {
        "host=\(socket) user=\(role) dbname=\(database)"
    }

    /// Creates the cluster at the first start, starts it, and waits until it answers.
    func start() throws {
        if readFile(directory + "/PG_VERSION") == nil {
            _ = try Subprocess([
                programs + "/initdb", "-D", directory, "-U", "postgres", "-A", "trust",
                "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums",
            ]).run(as: user)
        }
        try makeSocketDirectory()
        // A run that was killed may have left PostgreSQL running, so stop it. The lock on the data
        // directory proves that no other process uses this PostgreSQL.
        _ = try? pgCtl(["stop", "-m", "fast", "-w"])
        let options =
            "-k \(socket) -c listen_addresses='' -c max_connections=100 -c unix_socket_permissions=0700"
        _ = try pgCtl(["start", "-w", "-t", "60", "-l", directory + "/log", "-o", options])
        try makeRoles()
    }

    func stop() {
        // If stopping fails, no data is lost: PostgreSQL recovers at the next start.
        _ = try? pgCtl(["stop", "-m", "fast", "-w"])
        rmdir(socket)
    }

    private func pgCtl(_ arguments: [String]) throws -> String {
        // Send the output to /dev/null. pg_ctl passes its output streams on to the server that it
        // starts, so our pipe would stay open as long as that server runs.
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

    /// Creates a directory with mode 0700 that the user owns and can enter; returns false if that
    /// fails.
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
            description: "no PostgreSQL 15 to 19 is in /usr/lib/postgresql (Debian: postgresql)")
    }

    private static func quote(_ word: String) -> String {
        var quoted = "'"
        for character in word.unicodeScalars {
            quoted += character == "'" ? "'\\''" : String(character)
        }
        return quoted + "'"
    }
}

/// The directory in which `gatehouse dev` keeps its keys and its cluster between starts. If the
/// user `postgres` cannot use this directory, the cluster is elsewhere. A lock admits one process
/// at a time.
struct DataDirectory {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    let path: String
    private let lock: Int32

    /// Creates the directory with mode 0711 if it is missing, and locks it.
    init(_ given: String) throws {
        if mkdir(given, 0o711) != 0, errno != EEXIST {
            throw Failure(description: "cannot make \(given): \(String(cString: strerror(errno)))")
        }
        guard let real = realpath(given, nil) else {
            throw Failure(description: "cannot read \(given)")
        }
        path = String(cString: real)
        free(real)
        lock = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw Failure(
                description: "cannot open \(path)/lock: \(String(cString: strerror(errno)))")
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            throw Failure(description: "\(path) is in use by another gatehouse")
        }
    }

    private static let announcement = "running"

    /// A running `gatehouse dev`: where its database is, and the address at which it serves.
    struct Running: Equatable {
        /// The folder of PostgreSQL's socket.
        var socket: String
        var address: String
        /// The secret key as a text.
        var secret: String
    }

    /// Writes the file by which other commands find this process while it runs.
    func announce(socket: String, address: String) throws {
        try store(Self.announcement, Array("\(socket)\n\(address)\n".utf8))
    }

    /// Returns the `gatehouse dev` that runs with its data in this directory; `nil` if none runs,
    /// or if this user may not read its files.
    static func running(in path: String) -> Running? {
        let lock = open(path + "/lock", O_RDONLY | O_CLOEXEC)
        guard lock >= 0 else { return nil }
        defer { close(lock) }
        if flock(lock, LOCK_SH | LOCK_NB) == 0 { return nil }
        guard let lines = text(path + "/" + announcement), lines.count == 2,
            let secret = text(path + "/secret.key")?.first
        else { return nil }
        return Running(socket: lines[0], address: lines[1], secret: secret)
    }

    private static func text(_ path: String) -> [String]? {
        readFile(path).map {
            String(decoding: $0, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    /// Returns the bytes of a file; `nil` if it is missing.
    func contents(_ name: String) -> [UInt8]? { readFile(path + "/" + name) }

    /// Writes a file atomically. Only its owner may read it.
    func store(_ name: String, _ bytes: [UInt8]) throws {
        let temporary = "\(path)/.\(name).new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o400)
        guard file >= 0 else { throw Failure(description: "cannot write in \(path)") }
        let written = write(file, bytes, bytes.count)
        guard written == bytes.count, fsync(file) == 0 else {
            close(file)
            throw Failure(description: "cannot write \(temporary)")
        }
        close(file)
        guard rename(temporary, path + "/" + name) == 0 else {
            throw Failure(description: "cannot write \(name) in \(path)")
        }
    }

    /// Returns the secret with this name: 32 random bytes as 64 hexadecimal digits, created at the
    /// first start.
    func secret(_ name: String) throws -> String {
        if let kept = contents(name) {
            return String(decoding: kept.prefix { $0 > 0x20 }, as: UTF8.self)
        }
        let made = Hex.encode(RandomBytes.make(32))
        try store(name, Array((made + "\n").utf8))
        return made
    }
}

/// Runs a program and waits for its end. Because it blocks its thread, use it only in commands and
/// during the start.
struct Subprocess {
    struct Failure: Error, CustomStringConvertible {
        var command: String
        var status: Int32
        var output: String

        var description: String { "\(command) ended with \(status): \(output)" }
    }

    /// The program and its arguments. The program is searched for in PATH unless it contains a
    /// slash.
    var arguments: [String]
    /// Environment variables for the program. They are added to those of this process and take
    /// precedence.
    var environment: [String: String] = [:]

    init(_ arguments: [String]) { self.arguments = arguments }

    /// Runs the program as `user` and returns its output; `nil` is the user of this process. If
    /// this process is root, pass another user for PostgreSQL's programs, because they refuse to
    /// run as root.
    func run(as user: String?) throws -> String {
        guard let user else { return try run() }
        let prefix = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--init-groups", "--"]
        return try Subprocess(prefix + arguments).run()
    }

    /// Runs the program and returns its output on both streams, at most 64 KiB.
    func run() throws -> String {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw failure(-1, "no pipe") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        posix_spawn_file_actions_addclose(&actions, ends[1])
        // The service blocks signals before it starts threads. A child process must not inherit
        // that block.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var argv = arguments.map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        var process = pid_t()
        var variables = inherited.map { strdup($0) } + [nil]
        defer { for variable in variables { free(variable) } }
        let code = posix_spawnp(&process, arguments[0], &actions, &attributes, &argv, &variables)
        close(ends[1])
        defer { close(ends[0]) }
        guard code == 0 else { throw failure(code, String(cString: strerror(code))) }
        let output = drain(ends[0])
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw failure(status >> 8 & 0xFF, output) }
        return output
    }

    private var inherited: [String] {
        var variables: [String] = []
        var entry = environ
        while let text = entry.pointee {
            let variable = String(cString: text)
            let name = variable.prefix { $0 != "=" }
            if environment[String(name)] == nil { variables.append(variable) }
            entry += 1
        }
        return variables + environment.map { "\($0)=\($1)" }
    }

    private func drain(_ descriptor: Int32) -> String {
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            if output.count < 65_536 { output.append(contentsOf: chunk[..<count]) }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private func failure(_ status: Int32, _ output: String) -> Failure {
        Failure(command: arguments.joined(separator: " "), status: status, output: output)
    }
}
