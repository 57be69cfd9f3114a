import Configuration
import Glibc
import Observability
import Postgres

/// The command line. Exit codes: 0 done, 1 failed, 2 wrong usage.
package enum Command {
    private static let usage = """
        Gatehouse, the front desk of a multi-tenant product.

        usage: gatehouse COMMAND

          dev          start with a private PostgreSQL and a demo tenant; nothing to set up
          serve        serve against GATEHOUSE_DATABASE_URL
          migrate      bring the schema up to date (GATEHOUSE_MIGRATION_DATABASE_URL)
          check        read the settings, reach the database, and say what is wrong
          healthcheck  ask a running server for /readyz
          version      print the version

        Settings come from the environment: GATEHOUSE_LISTEN, GATEHOUSE_DATA_DIR, …; the README
        lists them all. A name that is not known stops the start.

        """

    package static func run(_ arguments: [String]) -> Int32 {
        guard arguments.count > 1 else {
            say(usage)
            return 2
        }
        do {
            switch arguments[1] {
            case "help", "--help", "-h": say(usage)
            case "version", "--version": say("gatehouse \(Version.current)\n")
            case _ where arguments.count > 2:
                if arguments[2] == "--help" || arguments[2] == "-h" {
                    say(usage)
                } else {
                    return misused("\(arguments[1]) takes no \(arguments[2])")
                }
            case "dev": try DevelopmentCommand(settings: settings()).run()
            case "serve": try ServeCommand(settings: settings()).run()
            case "migrate": try migrate(settings())
            case "check": try check(settings())
            case "healthcheck": try HealthCheck(settings: settings()).run()
            default: return misused("there is no command \(arguments[1])")
            }
            return 0
        } catch {
            complain("gatehouse: \(error)\n")
            return 1
        }
    }

    private static func misused(_ what: String) -> Int32 {
        complain("gatehouse: \(what)\n\n\(usage)")
        return 2
    }

    private static func settings() throws -> Settings {
        var environment: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2 { environment[String(pair[0])] = String(pair[1]) }
            entry += 1
        }
        return try Settings(
            environment: environment, cores: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            readFile: DataDirectory.read)
    }

    private static func migrate(_ settings: Settings) throws {
        guard let url = settings.migrationDatabaseURL else {
            throw Missing(name: "GATEHOUSE_MIGRATION_DATABASE_URL")
        }
        let applied = try Migrator.migrate(
            conninfo: url.text, directory: try Installation.find("Migrations"),
            log: { say("applying \($0)\n") })
        say(applied.isEmpty ? "The schema is current.\n" : "\(applied.count) files applied.\n")
    }

    private static func check(_ settings: Settings) throws {
        guard settings.databaseURL != nil else { throw Missing(name: "GATEHOUSE_DATABASE_URL") }
        guard settings.secretKey != nil else { throw Missing(name: "GATEHOUSE_SECRET_KEY") }
        _ = try Installation.find("Public")
        say("The settings are complete.\n")
    }

    struct Missing: Error, CustomStringConvertible {
        var name: String
        var description: String { "\(name) is missing; `gatehouse help` says what it is for" }
    }

    struct Invalid: Error, CustomStringConvertible {
        var name: String
        var description: String { "\(name) is not what it must be; `gatehouse help` says what" }
    }
}

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
