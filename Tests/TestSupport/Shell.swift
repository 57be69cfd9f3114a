import Glibc

/// Runs programs for test set-up.
package enum Shell {
    package struct Failure: Error, CustomStringConvertible {
        package let command: [String]
        package let code: Int32
        package let output: String
        package var description: String { "\(command) ended with \(code): \(output)" }
    }

    /// Runs a program to its end and returns its standard output. Its own children may keep
    /// running, so the output goes through a file: they would keep a pipe open.
    @discardableResult
    package static func run(_ command: [String]) throws -> String {
        let path = "/tmp/gh-out.\(getpid()).\(UInt64.random(in: 0...UInt64.max))"
        defer { unlink(path) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // A signal that is blocked here would be blocked in every child, including `timeout`.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, command[0], &actions, &attributes, arguments, environ)
        guard code == 0 else { throw Failure(command: command, code: code, output: "no start") }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        let output = read(path)
        guard status == 0 else { throw Failure(command: command, code: status, output: output) }
        return output
    }

    private static func read(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count <= 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(contentsOf: chunk[..<count])
        }
    }
}
