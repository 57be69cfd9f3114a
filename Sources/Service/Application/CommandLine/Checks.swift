import Configuration
import Glibc
import Networking
import Postgres

/// The result of one check of `gatehouse check`.
struct Finding: Sendable {
    enum Result: String, Sendable { case ok, warning, failed }

    var name: String
    var result: Result
    var detail: String
}

/// Checks everything that `serve` needs, before it is started.
struct Checks: Sendable {
    var settings: Settings

    func run() -> [Finding] {
        var findings = files()
        if let finding = secret() { findings.append(finding) }
        if settings.tlsCertificate != nil { findings.append(tls()) }
        findings += database()
        if let url = settings.smtpURL { findings.append(mail(url)) }
        if let url = settings.publicURL { findings.append(publicName(url)) }
        return findings
    }

    /// Whether a key is set; the database check compares it with the database's.
    private func secret() -> Finding? {
        do {
            _ = try settings.secrets()
            return nil
        } catch {
            let detail =
                settings.secretKey == nil
                ? "GATEHOUSE_SECRET_KEY is missing: at least 32 random bytes" : "\(error)"
            return Finding(name: "secret key", result: .failed, detail: detail)
        }
    }

    private func files() -> [Finding] {
        [("console", "Public"), ("migrations", "Migrations")].map { name, folder in
            do {
                return Finding(name: name, result: .ok, detail: try Installation.find(folder))
            } catch {
                return Finding(name: name, result: .failed, detail: "\(error)")
            }
        }
    }

    private func tls() -> Finding {
        do {
            let path = settings.tlsCertificate ?? ""
            let made = try TLSContext(certificateChain: path, privateKey: settings.tlsKey ?? "")
            let left = made.expiresAt - time(nil)
            guard left > 0 else {
                return Finding(name: "tls", result: .failed, detail: "\(path) has expired")
            }
            let days = left / 86_400
            return Finding(
                name: "tls", result: days < 14 ? .warning : .ok,
                detail: "\(path) is valid for \(days) days more")
        } catch {
            return Finding(name: "tls", result: .failed, detail: "\(error)")
        }
    }

    private func database() -> [Finding] {
        guard let url = settings.databaseURL else {
            return [
                Finding(
                    name: "database", result: .failed, detail: "GATEHOUSE_DATABASE_URL is missing")
            ]
        }
        let platform = settings.platformDatabaseURL?.text ?? ServeCommand.switchingRole(url.text)
        do {
            guard let directory = try? Installation.find("Migrations") else { return [] }
            let checks = DatabaseChecks(
                app: url.text, platform: platform, migrations: directory,
                secrets: try? settings.secrets(), connections: ConnectionCheck(settings),
                standby: ReadConfiguration(settings).map(StandbyCheck.init),
                workers: settings.workerDatabaseURL.map { WorkerCheck(url: $0.text) },
                secondFactorDays: settings.secondFactorDays,
                publicURL: settings.publicURL ?? "http://\(settings.listen.text)")
            let loop = EventLoop(index: -1)
            loop.start()
            defer { loop.stop() }
            return try waitFor(on: loop) {
                if let finding = await checks.unreachable() { return [finding] }
                return try await checks.run(on: loop)
            }
        } catch {
            return [Finding(name: "database", result: .failed, detail: "\(error)")]
        }
    }

    private func mail(_ url: Secret) -> Finding {
        reach("mail server", url.text, ports: ["smtp": 25, "smtps": 465])
    }

    /// Only a warning: a proxy that this machine cannot see may serve the name.
    private func publicName(_ url: String) -> Finding {
        guard let host = Endpoint(url, ports: ["http": 80, "https": 443])?.host else {
            return Finding(name: "public name", result: .failed, detail: "not understood")
        }
        return Reach.resolves(host)
            ? Finding(name: "public name", result: .ok, detail: "\(host) has an address")
            : Finding(name: "public name", result: .warning, detail: "\(host) has no address here")
    }

    private func reach(_ name: String, _ url: String, ports: [String: UInt16]) -> Finding {
        guard let endpoint = Endpoint(url, ports: ports) else {
            return Finding(name: name, result: .failed, detail: "the URL is not understood")
        }
        let address = "\(endpoint.host):\(endpoint.port)"
        guard Reach.resolves(endpoint.host) else {
            return Finding(name: name, result: .failed, detail: "\(endpoint.host) has no address")
        }
        return Reach.connects(endpoint.host, endpoint.port)
            ? Finding(name: name, result: .ok, detail: "\(address) takes connections")
            : Finding(name: name, result: .failed, detail: "nothing answers at \(address)")
    }

    /// Host and port of a URL, without user and password.
    private struct Endpoint {
        var host: String
        var port: UInt16

        init?(_ url: String, ports: [String: UInt16]) {
            let bytes = Array(url.utf8)
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
                bytes[colon...].starts(with: "://".utf8),
                let standard = ports[String(decoding: bytes[..<colon], as: UTF8.self)]
            else { return nil }
            let authority = bytes[(colon + 3)...].prefix { !"/?#".utf8.contains($0) }
            var endpoint = authority.split(separator: UInt8(ascii: "@")).last ?? []
            port = standard
            if let mark = endpoint.lastIndex(of: UInt8(ascii: ":")),
                endpoint.last != UInt8(ascii: "]")
            {
                guard let given = UInt16(String(decoding: endpoint[(mark + 1)...], as: UTF8.self))
                else { return nil }
                port = given
                endpoint = endpoint[..<mark]
            }
            if endpoint.first == UInt8(ascii: "[") { endpoint = endpoint.dropFirst().dropLast() }
            guard !endpoint.isEmpty else { return nil }
            host = String(decoding: endpoint, as: UTF8.self)
        }
    }
}
