import API
import Glibc
import Postgres
import Runtime
import Text

/// The result of one check of `gatehouse check`.
struct Finding: Sendable {
    enum Result: String, Sendable { case ok, warning, failed }

    var name: String
    var result: Result
    var detail: String
}

/// Checks everything that `serve` needs, before `serve` is started.
struct Checks: Sendable {
    var settings: Settings

    func run() -> [Finding] {
        var findings = files()
        if let finding = secret() { findings.append(finding) }
        if settings.tlsCertificate != nil { findings.append(tls()) }
        if let fault = settings.setupOwnerPasswordFault {
            findings.append(
                Finding(
                    name: "first owner's password", result: .warning,
                    detail: "GATEHOUSE_SETUP_OWNER_PASSWORD \(fault); no owner is made with it"))
        }
        findings += database()
        findings.append(mail())
        findings += ports() + publicNames() + proxies()
        return findings
    }

    /// Returns a failure if no usable secret key is set. `SecretChecks` compares the key with the
    /// database.
    private func secret() -> Finding? {
        do {
            _ = try settings.secrets()
            return nil
        } catch {
            let detail =
                settings.secretKey == nil
                ? "GATEHOUSE_SECRET_KEY is missing: at least 32 random bytes" : inFull(error)
            return Finding(name: "secret key", result: .failed, detail: detail)
        }
    }

    private func files() -> [Finding] {
        [("console", "Public"), ("migrations", "Migrations")].map { name, folder in
            do {
                return Finding(name: name, result: .ok, detail: try Installation.find(folder))
            } catch {
                return Finding(name: name, result: .failed, detail: inFull(error))
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
            return Finding(name: "tls", result: .failed, detail: inFull(error))
        }
    }

    private func database() -> [Finding] {
        guard let url = settings.databaseURL else {
            return [
                Finding(
                    name: "database", result: .failed,
                    detail: "GATEHOUSE_DATABASE_URL is missing, and no `gatehouse dev` runs in "
                        + settings.dataDirectory)
            ]
        }
        let platform = settings.platformDatabaseURL?.text ?? ServeCommand.switchingRole(url.text)
        do {
            guard let directory = try? Installation.find("Migrations") else { return [] }
            let checks = DatabaseChecks(
                app: url.text, platform: platform, platformSetting: settings.platformSetting,
                migrations: directory,
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
            return [Finding(name: "database", result: .failed, detail: inFull(error))]
        }
    }

    private func mail() -> Finding {
        guard let url = settings.smtpURL else {
            return Finding(
                name: "mail server", result: .warning,
                detail:
                    "GATEHOUSE_SMTP_URL is not set: no invite, reset or security notice is mailed")
        }
        return reach("mail server", url.text, ports: ["smtp": 25, "smtps": 465])
    }

    /// Warns if the service could not listen at an address in the settings, for example because the
    /// port is occupied. Does not warn if a server with these settings is running.
    private func ports() -> [Finding] {
        do {
            try ListenFault.check(settings)
        } catch {
            if (try? HealthCheck(settings: settings).run()) != nil { return [] }
            return [Finding(name: "ports", result: .warning, detail: inFull(error))]
        }
        return []
    }

    /// Checks GATEHOUSE_PUBLIC_URL. If it is not set, or is not the address that clients use,
    /// requests for any host but this machine's own names and the clients' are answered with 421.
    private func publicNames() -> [Finding] {
        guard let url = settings.publicURL else {
            let names = PublicAddress.loopbackNames
            guard
                !names.contains(where: {
                    sameBytes("\($0):\(settings.listen.port)", settings.listen.text)
                })
            else { return [] }
            return [
                Finding(
                    name: "public name", result: .warning,
                    detail:
                        "GATEHOUSE_PUBLIC_URL is not set, so only \(names.joined(separator: ", "))"
                        + " and the hosts bound to clients are served, and every other host is"
                        + " answered 421")
            ]
        }
        var findings = [publicName(url)]
        if let address = PublicAddress(url), address.scheme.utf8.elementsEqual("http".utf8),
            !address.isLoopback
        {
            findings.append(
                Finding(
                    name: "public scheme", result: .warning,
                    detail: "\(url) is not https: passwords and cookies cross the network in clear")
            )
        }
        return findings
    }

    private func proxies() -> [Finding] {
        settings.trustedProxies.filter { IPRange($0)?.prefix == 0 }.map {
            Finding(
                name: "trusted proxies", result: .warning,
                detail:
                    "GATEHOUSE_TRUSTED_PROXIES has \($0), so every client can forge its address,"
                    + " which limits, rules and the audit log use; list only your proxies")
        }
    }

    /// Checks that the public name resolves to an address. A failure is only a warning, because a
    /// proxy that this machine cannot see may serve the name.
    private func publicName(_ url: String) -> Finding {
        guard let host = Endpoint(url, ports: ["http": 80, "https": 443])?.host else {
            return Finding(
                name: "public name", result: .failed,
                detail: "GATEHOUSE_PUBLIC_URL is not an http or https URL with a host")
        }
        return Reach.resolves(host)
            ? Finding(name: "public name", result: .ok, detail: "\(host) has an address")
            : Finding(name: "public name", result: .warning, detail: "\(host) has no address here")
    }

    private func reach(_ name: String, _ url: String, ports: [String: UInt16]) -> Finding {
        guard let endpoint = Endpoint(url, ports: ports) else {
            return Finding(
                name: name, result: .failed,
                detail: "GATEHOUSE_SMTP_URL is not an smtp or smtps URL with a host")
        }
        let address = "\(endpoint.host):\(endpoint.port)"
        guard Reach.resolves(endpoint.host) else {
            return Finding(name: name, result: .failed, detail: "\(endpoint.host) has no address")
        }
        return Reach.connects(endpoint.host, endpoint.port)
            ? Finding(name: name, result: .ok, detail: "\(address) takes connections")
            : Finding(name: name, result: .failed, detail: "nothing answers at \(address)")
    }

    /// The host and port of a URL, without user and password.
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

/// Tests whether a host and port accept connections from here.
enum Reach {
    private static let seconds = 5

    static func resolves(_ host: String) -> Bool { withAddresses(host, 0) { $0 != nil } ?? false }

    /// Returns whether one of the host's addresses accepts a connection within five seconds.
    static func connects(_ host: String, _ port: UInt16) -> Bool {
        connection(host, port).map { close($0) } != nil
    }

    /// Returns the socket of a connection to the first of the host's addresses that accepts one;
    /// the caller closes the socket. Connecting to an address takes at most five seconds, and so
    /// does each wait for an answer.
    static func connection(_ host: String, _ port: UInt16) -> Int32? {
        withAddresses(host, port) { first in
            var entry = first
            while let address = entry {
                if let connected = connection(address.pointee) { return connected }
                entry = address.pointee.ai_next
            }
            return nil
        } ?? nil
    }

    private static func connection(_ address: addrinfo) -> Int32? {
        let descriptor = socket(address.ai_family, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        // The send timeout is set too, because Linux also applies it to connect(2).
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(
                descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func withAddresses<Result>(
        _ host: String, _ port: UInt16, _ body: (UnsafeMutablePointer<addrinfo>?) -> Result
    ) -> Result? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, port == 0 ? nil : String(port), &hints, &found) == 0 else {
            return nil
        }
        defer { freeaddrinfo(found) }
        return body(found)
    }
}
