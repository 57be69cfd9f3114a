import API
import Cryptography
import Glibc
import Runtime
import Storage
import Synchronization

/// `gatehouse secrets rotate`, which changes to a new secret key, and `gatehouse secrets forget`,
/// which continues without a lost key.
struct SecretsCommand: Sendable {
    struct Refused: Error, CustomStringConvertible {
        var description: String
    }

    var settings: Settings
    var terminal: Terminal
    /// Seconds after which no request uses the previous key any more: twice the longest deadline of
    /// an ordinary request.
    static let grace: UInt32 = 10
    /// How many times the replicas are asked, once a second, whether they use the new key.
    static let questions = 30

    /// Replaces the previous key by the current one in everything that depends on it. If a run
    /// fails, the command can be run again.
    func rotate() throws -> Int32 {
        guard settings.previousSecretKey != nil else { throw SecretKeyFault.noPrevious }
        let terminal = terminal
        let remains = try offline.run { composition in
            let database = composition.application.database
            try await database.switchSecrets()
            terminal.step("waiting until every replica seals with the new key")
            try await Self.wait(for: database)
            try await database.resealAll { kind, count in
                terminal.step("sealed anew: \(count) \(kind.rawValue)")
            }
            let people = Counted()
            try await database.rebuildDirectory { people.add($0) }
            terminal.step("directory written anew: \(people.total) people")
            try await database.finishRotation()
            guard let previous = database.secrets.previous else { return [SecretKeyRemains]() }
            return try await database.remains(of: previous)
        }
        if remains.isEmpty {
            say("Nothing rests on the previous key; GATEHOUSE_SECRET_KEY_PREVIOUS may go.\n")
        } else {
            let list = remains.map { "  \($0.count) \($0.name)\n" }.joined()
            say("Still made with the previous key, until they end or at the next sign-in:\n\(list)")
            say(
                "Keep GATEHOUSE_SECRET_KEY_PREVIOUS until gatehouse check says that nothing does.\n"
            )
        }
        return 0
    }

    /// Continues without a lost key: removes everything that was encrypted with it.
    func forget(_ call: Invocation) throws -> Int32 {
        var offline = offline
        offline.needsSecrets = false
        let foreign = try offline.run { try await $0.application.database.foreignPlaces() }
        guard !foreign.isEmpty else {
            say("The key opens everything that is sealed; nothing is to be forgotten.\n")
            return 0
        }
        say("GATEHOUSE_SECRET_KEY does not open \(foreign.joined(separator: ", ")).\n")
        say(
            """
            What is sealed there is removed: providers' secrets and hook credentials have to be entered \
            or made again, letters that wait are dropped, apps' access tokens end, people and operators \
            with a password have to set a new one. Users, sign-ins at providers, API keys and sessions stay.

            """)
        guard call.has("yes") || confirmed() else {
            throw Refused(description: "nothing was changed")
        }
        let people = Counted()
        try offline.run { try await $0.application.database.forgetSecrets { people.add($0) } }
        say("Removed. The directory was written anew for \(people.total) people.\n")
        return 0
    }

    private var offline: OfflineService {
        OfflineService(
            settings: settings, principal: AdministrationCommand.principal, statementTimeout: 0)
    }

    private func confirmed() -> Bool {
        guard isatty(0) == 1 else {
            complain("gatehouse: not a terminal; --yes says that it is meant\n")
            return false
        }
        say("Type forget to go on: ")
        return readLine() == "forget"
    }

    private static func wait(for database: Database) async throws {
        for _ in 0..<questions {
            if try await database.secretsAreFollowed() {
                if try await database.secretHolders() > 0 { sleep(grace) }
                return
            }
            sleep(1)
        }
        throw SecretKeyFault.notFollowed
    }
}

/// A number that several tasks add to.
private final class Counted: Sendable {
    private let count = Mutex(0)

    func add(_ more: Int) { count.withLock { $0 += more } }
    var total: Int { count.withLock { $0 } }
}

/// Compares the secret keys in the settings with the keys that encrypted the data in the database.
struct SecretChecks: Sendable {
    var database: Database

    func run() async -> [Finding] {
        let keys = database.secrets
        do {
            guard try await database.followSecrets(replica: nil) else {
                return [try await unused()]
            }
            let detail =
                keys.sealing.id == keys.current.id
                ? "opens what is sealed here" : "is not in use yet; the previous key still seals"
            var findings = [Finding(name: "secret key", result: .ok, detail: detail)]
            if let previous = keys.previous { findings.append(try await remains(of: previous)) }
            return findings
        } catch {
            return [Finding(name: "secret key", result: .failed, detail: inFull(error))]
        }
    }

    /// Returns the finding for a database that does not record a secret key: no server has used the
    /// database, or only a server of an older version.
    private func unused() async throws -> Finding {
        let foreign = try await database.foreignPlaces()
        guard foreign.isEmpty else {
            return Finding(
                name: "secret key", result: .failed, detail: "\(SecretKeyFault.foreign(foreign))")
        }
        return Finding(
            name: "secret key", result: .ok, detail: "set; the first serve seals with it")
    }

    private func remains(of previous: SecretKeys.Key) async throws -> Finding {
        let name = "previous secret key"
        if database.secrets.sealing.id == previous.id {
            return Finding(
                name: name, result: .warning,
                detail: "still in use: once every replica knows both, run gatehouse secrets rotate")
        }
        let remains = try await database.remains(of: previous)
        guard !remains.isEmpty else {
            return Finding(
                name: name, result: .ok,
                detail: "nothing rests on it; GATEHOUSE_SECRET_KEY_PREVIOUS may go")
        }
        let list = remains.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
        let mend =
            remains.allSatisfy(\.endsByItself)
            ? "they end by themselves or at the next sign-in" : "run gatehouse secrets rotate"
        return Finding(name: name, result: .warning, detail: "needed by \(list): \(mend)")
    }
}
