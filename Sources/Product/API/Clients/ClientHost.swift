import Domain
import Storage
import Text

/// A host that a client answers at: a domain name, with a port if one is given.
package enum ClientHost {
    static let rule = TextRule(
        detail: "must be a host, with a port if it is not the usual one",
        example: "mail.acme.example"
    ) { of($0) != nil }

    /// Lower case, as an A-label; nil for anything else.
    package static func of(_ text: String) -> String? {
        guard let origin = try? Origin(configuring: "https://\(text)") else { return nil }
        // What has a path, a user or a wildcard is no host.
        guard origin.wildcardBase == nil else { return nil }
        return origin.port.map { "\(origin.host):\($0)" } ?? origin.host
    }
}

/// Who may bind which host. Our own names and this machine's are never given away: requests that
/// carry them (a proxy that sends its upstream's address, a sidecar, a health check) are ours.
struct HostBinding {
    private static let localNames = [".localhost", ".test"]

    /// Nil where the public URL is none; then no name is known to be ours.
    let own: PublicAddress?
    /// The caller is an operator or a key of the platform.
    let isPlatform: Bool

    init(_ call: Call) {
        own = PublicAddress(call.services.publicURL)
        isPlatform = call.principal.platform
    }

    init(own: PublicAddress?, isPlatform: Bool) {
        self.own = own
        self.isPlatform = isPlatform
    }

    /// 422 with the first host of `next` that is neither in `current` nor the caller's to bind.
    func check(
        _ next: [String], besides current: [String], in change: Change
    ) async throws {
        for (index, host) in next.enumerated()
        where !current.contains(where: { sameBytes($0, host) }) {
            if let fault = refusal(of: host) { throw Self.refuse(index, fault) }
            if isPlatform { continue }
            guard try await change.wildcardStands(Self.parts(of: host).name) else {
                throw Self.refuse(
                    index,
                    "must be at or below a verified domain of the tenant; a platform operator may bind any other host"
                )
            }
        }
    }

    /// Why a host, in the form of `ClientHost.of`, is bound by no such caller; nil where it may be.
    func refusal(of host: String) -> String? {
        let (name, port) = Self.parts(of: host)
        guard !name.utf8.starts(with: "[".utf8), let domain = Self.domain(name) else {
            return "is an address; bind a name"
        }
        if let own, sameBytes(own.host, name) {
            guard own.isLoopback, port != own.port, port != nil else {
                return "is this server's own name"
            }
        }
        if Self.isLocal(name) { return localRefusal(name, port) }
        return domain.isPublicSuffix ? "is a public suffix, below which anyone may register" : nil
    }

    /// Names of this machine are the platform's, and only where the server is reached on this machine alone.
    private func localRefusal(_ name: String, _ port: Int?) -> String? {
        guard isPlatform, let own, own.isLoopback else {
            return
                "is a name of the local machine, which only the platform may bind, and only on a "
                + "server whose own address is a loopback address"
        }
        // Without a port `localhost` would be each of its ports, ours too.
        if port == own.port || port == nil && sameBytes(name, "localhost") {
            return "needs a port that is not this server's own"
        }
        return nil
    }

    private static func domain(_ name: String) -> DomainName? {
        try? DomainName(name, allowSingleLabel: true)
    }

    private static func isLocal(_ name: String) -> Bool {
        sameBytes(name, "localhost")
            || localNames.contains { name.utf8.count > $0.utf8.count && name.hasSuffix($0) }
    }

    private static func parts(of host: String) -> (name: String, port: Int?) {
        guard !host.utf8.starts(with: "[".utf8), let colon = host.utf8.firstIndex(of: 0x3A) else {
            return (host, nil)
        }
        return (String(host[..<colon]), Int(host[host.utf8.index(after: colon)...]))
    }

    private static func refuse(_ index: Int, _ detail: String) -> Problem {
        .invalid([FieldError("/hosts/\(index)", .notAllowed, detail)])
    }
}
