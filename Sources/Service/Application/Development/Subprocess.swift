import Glibc

/// Runs a program to its end. For start-up and commands only: it blocks its thread.
struct Subprocess {
    struct Failure: Error, CustomStringConvertible {
        var command: String
        var status: Int32
        var output: String

        var description: String { "\(command) ended with \(status): \(output)" }
    }

    /// The program and its arguments; the program is searched in PATH unless it contains a slash.
    var arguments: [String]
    /// Set for the program beside this one's own variables, in whose place they come.
    var environment: [String: String] = [:]

    init(_ arguments: [String]) { self.arguments = arguments }

    /// Runs the program under another user's ids: PostgreSQL refuses to run as root.
    func run(as user: String?) throws -> String {
        guard let user else { return try run() }
        let prefix = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--init-groups", "--"]
        return try Subprocess(prefix + arguments).run()
    }

    /// The program's output of both streams, at most 64 KiB.
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
        // The service blocks its signals before it starts threads; a child must not inherit the
        // mask.
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
