import Cryptography
import Glibc
import Text

/// What `gatehouse dev` keeps between starts: its keys, and the cluster unless the user `postgres`
/// needs it elsewhere. One process at a time locks it.
struct DataDirectory {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    let path: String
    private let lock: Int32

    /// Creates the directory (0711) if it is missing and takes its lock.
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
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            throw Failure(description: "\(path) is in use by another gatehouse")
        }
    }

    private static let announcement = "running"

    /// Where a `gatehouse dev` that runs has its database, and at which address it is reached.
    struct Running: Equatable {
        /// The folder of PostgreSQL's socket.
        var socket: String
        var address: String
        /// The text of the secret key.
        var secret: String
    }

    /// Lets other commands find this one until it ends.
    func announce(socket: String, address: String) throws {
        try store(Self.announcement, Array("\(socket)\n\(address)\n".utf8))
    }

    /// nil: none runs with its data there, or this user may not read it.
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
        read(path).map {
            String(decoding: $0, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    /// The bytes of a file, or nil if it is missing.
    func contents(_ name: String) -> [UInt8]? { Self.read(path + "/" + name) }

    static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// Writes a file with mode 0600 atomically.
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

    /// 32 random bytes as 64 hex digits, created at the first start.
    func secret(_ name: String) throws -> String {
        if let kept = contents(name) {
            return String(decoding: kept.prefix { $0 > 0x20 }, as: UTF8.self)
        }
        let made = Hex.encode(RandomBytes.make(32))
        try store(name, Array((made + "\n").utf8))
        return made
    }
}
