import CPostgres
import Glibc

/// Why the schema could not be brought up to date.
package struct MigrationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A migration's file name, or a step such as `connect` or `lock`.
    package let name: String
    /// The server's message, or what is wrong with the file. It contains no connection string.
    package let reason: String
    /// The server's error code; `nil` if the server refused no statement.
    var sqlstate: String?

    /// One line for the log and standard error.
    package var description: String { "migration \(name): \(reason)" }
}

/// Applies the files `NNNN_name.sql` in order, each once and in its own transaction. Records the
/// SHA-256 of each file. Stops if a file that was applied has changed or is missing. It blocks, so
/// do not call it on an event loop.
///
/// While a statement waits for a table's lock, every later statement on that table waits behind it.
/// So if a file's transaction waits for a lock longer than the limit, it is rolled back, and begun
/// again after a pause of the same length. A file is tried up to 30 times. A transaction that had
/// already taken long is not tried again, since it held other locks all that time.
///
/// Lines `-- then` separate the statements of a file, and each statement is sent as a message of
/// its own. A distributed database needs this: to change a table, it forwards the whole message,
/// and it refuses a message with more than one statement.
///
/// A file whose first line is `-- outside a transaction` is applied statement by statement, each in
/// its own transaction or, like CREATE INDEX CONCURRENTLY, in none. It is for statements that take
/// long on a large table and must not keep locks. If one fails, the next call begins with the first
/// statement again, so each must be repeatable.
///
/// A database that has the migrations from before 1.0.0-rc.1 is converted: see `FoldedChain`.
package enum Migrator {
    /// The key of a session advisory lock, which makes replicas that start together take turns.
    private static let lock = 4_725_921_866_352_441_345
    private static let outside = "-- outside a transaction\n"
    private static let separator = "\n-- then\n"
    /// How often a file is tried if it cannot get its locks.
    private static let tries = 30
    /// A file is not tried again if an attempt took longer than this many times the lock limit.
    private static let waitsOfOneTry = 4
    /// The codes `lock_not_available` and `deadlock_detected`.
    private static let sqlstatesOfLocks = ["55P03", "40P01"]

    /// A file as it is recorded in the database.
    struct Applied {
        var name: String
        /// SHA-256 in hexadecimal.
        var checksum: String
    }

    private struct File {
        var version: String
        /// The file's name, with its folder if it is in one.
        var name: String

        var number: Substring { version.suffix(4) }
    }

    /// The subfolder of the files that are applied only to a distributed database. It is also the
    /// first part of their versions.
    static let distributed = "distributed/"
    /// The file with the whole schema as one text, for people to read. It is generated and never
    /// applied.
    private static let whole = "schema.sql"

    /// Applies all files that were not applied yet, and returns their names. Calls `log` before
    /// each file, and `waits` each time that a file did not get a lock. `distributes` makes the
    /// database a distributed one; later calls need not repeat this. `lockWait` is the limit for
    /// each lock in milliseconds. It is longer than PostgreSQL's `deadlock_timeout`, after which
    /// PostgreSQL cancels an autovacuum that holds the lock. With `distributes` there is no limit,
    /// because no replica runs then.
    @discardableResult
    package static func migrate(
        conninfo: String, directory: String, distributes: Bool = false, lockWait: Int = 1500,
        log: (_ name: String) -> Void = { _ in }, waits: (_ name: String) -> Void = { _ in }
    ) throws(MigrationError) -> [String] {
        let session = try MigrationSession(conninfo: conninfo)
        defer { session.close() }
        try session.requireOwn(conninfo: conninfo)
        try session.requireOwner()
        try session.run("SET client_min_messages = warning; SET statement_timeout = 0", "set-up")
        // SET LOCAL must reach the workers of a distributed database too. Without Citus, this
        // setting has no effect.
        try session.run("SET citus.propagate_set_commands = 'local'", "set-up")
        // This allows a transaction to call a function after it has changed a table. Without Citus,
        // it has no effect.
        try session.run("SET citus.multi_shard_modify_mode = 'sequential'", "set-up")
        try take(lock, session)
        try session.run(
            """
            CREATE TABLE IF NOT EXISTS public.schema_migrations (
                version text PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now())
            """, "schema_migrations")
        var applied = try read(session)
        var done: [String] = []
        if let chain = try FoldedChain(in: directory), chain.made(applied) {
            done = try takeOver(chain, applied, directory, session, lockWait, log, waits)
            applied = try read(session)
        }
        let isDistributed =
            distributes || applied.keys.contains { $0.hasPrefix(distributed) }
        let files = try files(directory, isDistributed: isDistributed)
        for version in applied.keys.sorted() where !files.contains(where: { $0.version == version })
        {
            throw MigrationError(
                name: applied[version]?.name ?? version,
                reason: "was applied, but this program does not have it: is the program older than "
                    + "the database?")
        }
        for file in files {
            let text = try contents("\(directory)/\(file.name)", file.name)
            let checksum = try checksum(of: text, file, session)
            if let before = applied[file.version] {
                guard before.checksum == checksum, before.name == file.name else {
                    throw MigrationError(
                        name: file.name, reason: "was changed or renamed after it was applied")
                }
                continue
            }
            log(file.name)
            try apply(text, file, checksum, session, distributes ? 0 : lockWait, waits)
            done.append(file.name)
        }
        return done
    }

    private static func apply(
        _ text: String, _ file: File, _ checksum: String, _ session: MigrationSession,
        _ lockWait: Int, _ waits: (_ name: String) -> Void
    ) throws(MigrationError) {
        if text.hasPrefix(outside) {
            for statement in text.split(separator: separator) {
                try session.run(String(statement), file.name)
            }
            return try record(file, checksum, session)
        }
        try transaction(file.name, session, lockWait, waits) { () throws(MigrationError) in
            let rest = try makeExtensions(of: text, file.name, session)
            for statement in rest.split(separator: separator) {
                try session.run(String(statement), file.name)
            }
            try record(file, checksum, session)
        }
    }

    /// Runs `work` in a transaction. If the transaction does not get its locks, tries again.
    private static func transaction(
        _ name: String, _ session: MigrationSession, _ lockWait: Int,
        _ waits: (_ name: String) -> Void, work: () throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let limit = Duration.milliseconds(lockWait * waitsOfOneTry)
        for turn in 1...tries {
            let began = ContinuousClock.now
            do throws(MigrationError) {
                try session.run("BEGIN", name)
                // This is a message of its own, because a coordinator forwards the whole text of a
                // message.
                try session.run("SET LOCAL lock_timeout = \(lockWait)", name)
                try work()
                return try session.run("COMMIT", name)
            } catch {
                guard turn < tries, sqlstatesOfLocks.contains(error.sqlstate ?? ""),
                    ContinuousClock.now - began < limit
                else { throw error }
            }
            try session.run("ROLLBACK", name)
            waits(name)
            usleep(UInt32(lockWait) * 1000)
        }
    }

    /// Converts a database that the old chain made: replaces the records of the old files by
    /// records of the new files, in one transaction. If the last file of the old chain was not
    /// applied yet, it is applied first, and its name is returned.
    private static func takeOver(
        _ chain: FoldedChain, _ applied: [String: Applied], _ directory: String,
        _ session: MigrationSession, _ lockWait: Int, _ log: (_ name: String) -> Void,
        _ waits: (_ name: String) -> Void
    ) throws(MigrationError) -> [String] {
        try chain.require(applied)
        let isDistributed = applied.keys.contains { $0.hasPrefix(distributed) }
        let files = try files(directory, isDistributed: isDistributed)
            .filter { $0.number <= FoldedChain.lastFile }
        let last = chain.last
        let isWhole = applied.values.contains { $0.name == last }
        let text = isWhole ? "" : try contents("\(directory)/\(FoldedChain.folder)\(last)", last)
        if !isWhole { log(last) }
        try transaction(last, session, lockWait, waits) { () throws(MigrationError) in
            for statement in text.split(separator: separator) {
                try session.run(String(statement), last)
            }
            try session.run("DELETE FROM public.schema_migrations", last)
            for file in files {
                let text = try contents("\(directory)/\(file.name)", file.name)
                try record(file, try checksum(of: text, file, session), session)
            }
        }
        return isWhole ? [] : [last]
    }

    private static func checksum(
        of text: String, _ file: File, _ session: MigrationSession
    ) throws(MigrationError) -> String {
        try session.value(
            "SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')", [text], file.name)
    }

    private static let extensionLine = "CREATE EXTENSION IF NOT EXISTS "

    /// Creates the extensions that the file asks for and that the database lacks. Returns the
    /// file's other lines. For an extension that exists, CREATE EXTENSION is not run: where only an
    /// administrator may create extensions, an event trigger can refuse that statement in spite of
    /// `IF NOT EXISTS`.
    private static func makeExtensions(
        of text: String, _ name: String, _ session: MigrationSession
    ) throws(MigrationError) -> String {
        var rest: [Substring] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix(extensionLine), line.hasSuffix(";") else {
                rest.append(line)
                continue
            }
            // Put an empty line in place of this line, so that the line numbers in PostgreSQL's
            // error messages stay right.
            rest.append("")
            let wanted = String(line.dropFirst(extensionLine.count).dropLast())
            let count = try session.value(
                "SELECT count(*)::text FROM pg_extension WHERE extname = $1", [wanted], name)
            guard count == "0" else { continue }
            do throws(MigrationError) {
                try session.run(String(line), name)
            } catch {
                guard !sqlstatesOfLocks.contains(error.sqlstate ?? "") else { throw error }
                throw MigrationError(
                    name: name,
                    reason: """
                        the extension \(wanted) is missing and cannot be made: an administrator of the database makes it \
                        by `CREATE EXTENSION \(wanted)` in this database, then `gatehouse migrate` goes on. PostgreSQL \
                        says: \(error.reason)
                        """)
            }
        }
        return rest.joined(separator: "\n")
    }

    private static func record(
        _ file: File, _ checksum: String, _ session: MigrationSession
    ) throws(MigrationError) {
        _ = try session.value(
            """
            INSERT INTO public.schema_migrations (version, name, checksum)
            VALUES ($1, $2, $3) RETURNING version
            """, [file.version, file.name, checksum], file.name)
    }

    /// Tries to take the lock again and again until it succeeds. A single statement that waits for
    /// the lock would delay the process that has the lock: a CREATE INDEX CONCURRENTLY of that
    /// process waits for every running statement.
    private static func take(_ lock: Int, _ session: MigrationSession) throws(MigrationError) {
        let text = "SELECT pg_try_advisory_lock($1::bigint)::text"
        while try session.value(text, ["\(lock)"], "lock") != "true" { usleep(50_000) }
    }

    /// Returns the files of a folder that `migrate` would apply to an empty database, in order.
    /// Those for a distributed database are included if one of them is in `applied`.
    package static func names(
        in directory: String, applied: [String] = []
    ) throws(MigrationError) -> [String] {
        try files(directory, isDistributed: applied.contains { $0.hasPrefix(distributed) })
            .map(\.name)
    }

    /// Returns the files in order. A file for a distributed database comes after the ordinary file
    /// with the same number.
    private static func files(
        _ directory: String, isDistributed: Bool
    ) throws(MigrationError) -> [File] {
        let files = try list(directory)
        guard isDistributed else { return files }
        return (files + (try list(directory, distributed)))
            .sorted { ($0.number, $0.version) < ($1.number, $1.version) }
    }

    private static func read(_ session: MigrationSession) throws(MigrationError) -> [String:
        Applied]
    {
        let rows = try session.rows(
            "SELECT version, name, checksum FROM public.schema_migrations", "schema_migrations")
        var applied: [String: Applied] = [:]
        for row in rows { applied[row[0]] = Applied(name: row[1], checksum: row[2]) }
        return applied
    }

    private static func list(
        _ directory: String, _ folder: String = ""
    ) throws(MigrationError) -> [File] {
        guard let handle = opendir("\(directory)/\(folder)") else {
            throw MigrationError(name: directory, reason: "cannot be opened")
        }
        defer { closedir(handle) }
        var files: [File] = []
        while let entry = Glibc.readdir(handle) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasSuffix(".sql"), name != whole else { continue }
            let bytes = Array(name.utf8)
            guard bytes.count > 9, bytes[4] == UInt8(ascii: "_"),
                bytes[0..<4].allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
            else { throw MigrationError(name: name, reason: "is not named NNNN_name.sql") }
            files.append(File(version: folder + name.prefix(4), name: folder + name))
        }
        files.sort { $0.name < $1.name }
        for (file, next) in zip(files, files.dropFirst()) where file.version == next.version {
            throw MigrationError(name: next.name, reason: "repeats the number of \(file.name)")
        }
        return files
    }

    static func contents(_ path: String, _ name: String) throws(MigrationError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw MigrationError(name: name, reason: "cannot be read") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { throw MigrationError(name: name, reason: "cannot be read") }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw MigrationError(name: name, reason: "is not text in UTF-8")
        }
        return text
    }
}

/// One blocking connection, used only by the calling thread.
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

    /// Throws if a connection pooler lends out a server connection for each transaction: this
    /// session's lock and settings would then reach other users of that connection.
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

    /// Throws unless the role owns the schema or is a member of the role that owns it.
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
