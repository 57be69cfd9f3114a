import Cryptography
import Storage

/// Compares the secret keys of the settings with those that sealed the database.
struct SecretChecks: Sendable {
    var database: Database

    func run() async -> [Finding] {
        let keys = database.secrets
        do {
            guard try await database.followSecrets(replica: nil) else {
                return [try await unused()]
            }
            let fits =
                keys.sealing.id == keys.current.id
                ? "opens" : "is not in use yet; the one before is"
            var findings = [
                Finding(name: "secret key", result: .ok, detail: "\(fits) what is sealed here")
            ]
            if let previous = keys.previous { findings.append(try await remains(of: previous)) }
            return findings
        } catch {
            return [Finding(name: "secret key", result: .failed, detail: inFull(error))]
        }
    }

    /// The database has no mark of a secret key: no server has run, or only an older one.
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
