import Glibc
import Postgres
import Runtime
import Synchronization

/// The command line. Exit codes: 0 done, 1 failed, 2 wrong usage.
package enum Command {
    /// Runs the command that `arguments` name and returns the exit code; the first argument is the
    /// program's name.
    package static func run(_ arguments: [String]) -> Int32 {
        let terminal = Terminal(environment: environment())
        let help = CommandHelp(commands: all)
        do {
            switch try CommandParser(commands: all).parse(Array(arguments.dropFirst())) {
            case .help(nil): say(help.overview())
            case .help(let command?): say(help.page(of: command))
            case .run(let command, let values):
                return try command.run(Invocation(values: values, terminal: terminal))
            }
            return 0
        } catch let fault as UsageFault {
            complain("gatehouse: \(fault.message)\n`gatehouse help` lists the commands.\n")
            return 2
        } catch {
            complain("gatehouse: \(inFull(error))\n")
            return 1
        }
    }

    static func settings() throws -> Settings {
        try Settings(
            environment: environment(), cores: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            readFile: readFile(_:))
    }

    private static func environment() -> [String: String] {
        var environment: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2 { environment[String(pair[0])] = String(pair[1]) }
            entry += 1
        }
        return environment
    }

    struct Missing: Error, CustomStringConvertible {
        var name: String
        var description: String {
            "\(name) is missing; the page on operating, operating.md of the documents, says what it is for"
        }
    }

    struct Invalid: Error, CustomStringConvertible {
        var name: String
        var reason: String
        var description: String { "\(name): \(reason)" }
    }
}

/// Returns the full text of an error. The person who runs the command may see it, because that
/// person can read the database anyway.
func inFull(_ error: any Error) -> String { (error as? PostgresError)?.inFull ?? "\(error)" }

func say(_ text: String) { emit(text, to: 1) }
func complain(_ text: String) { emit(text, to: 2) }

private func emit(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
        var sent = 0
        while sent < bytes.count {
            let count = write(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            sent += count
        }
    }
}

/// Runs async work on an event loop and blocks the calling thread until the work ends. Do not call
/// it on the thread of a loop.
func waitFor<Value: Sendable>(
    on loop: EventLoop, _ work: @escaping @Sendable () async throws -> Value
) throws -> Value {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw DataDirectory.Failure(description: "no pipe") }
    let (readEnd, writeEnd) = (ends[0], ends[1])
    defer {
        close(readEnd)
        close(writeEnd)
    }
    let box = Outcome<Value>()
    loop.spawn {
        do { box.set(.success(try await work())) } catch { box.set(.failure(error)) }
        var done: UInt8 = 1
        _ = write(writeEnd, &done, 1)
    }
    var done: UInt8 = 0
    while read(readEnd, &done, 1) < 0, errno == EINTR {}
    guard let result = box.value else { throw DataDirectory.Failure(description: "no outcome") }
    return try result.get()
}

private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func set(_ value: Result<Value, any Error>) { result.withLock { $0 = value } }
    var value: Result<Value, any Error>? { result.withLock { $0 } }
}

/// Shows progress and results: in colour on a terminal, plain in a pipe or a file.
struct Terminal: Sendable {
    enum Colour: Int, Sendable {
        case red = 31
        case green = 32
        case yellow = 33
        case dim = 2
        case bold = 1
    }

    var isColoured: Bool

    /// Creates the terminal. It is plain if NO_COLOR is set and not empty, or if TERM is `dumb`.
    init(environment: [String: String], isTerminal: Bool = isatty(1) == 1) {
        let refused = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
        isColoured = isTerminal && !refused
    }

    func paint(_ text: String, _ colour: Colour) -> String {
        isColoured ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes a line that names one step of a longer task.
    func step(_ text: String) { say(paint("› ", .dim) + text + "\n") }
}
