import Configuration
import Glibc
import Postgres

/// The command line. Exit codes: 0 done, 1 failed, 2 wrong usage.
package enum Command {
    /// `arguments` with the program's name first.
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
            readFile: DataDirectory.read)
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

/// What went wrong, for who runs the command and sees the database's data anyway.
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
