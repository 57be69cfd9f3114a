import Domain
import Storage
import Text

/// A host of a client: a domain name, with an optional port.
package enum ClientHost {
    static let rule = TextRule(
        detail: "must be a host, with a port if it is not the usual one",
        example: "mail.acme.example"
    ) { of($0) != nil }

    /// Lower case, as an A-label; nil for anything else.
    package static func of(_ text: String) -> String? {
        guard let origin = try? Origin(configuring: "https://\(text)") else { return nil }
        // A text with a path, a user or a wildcard is not a host.
        guard origin.wildcardBase == nil else { return nil }
        return origin.port.map { "\(origin.host):\($0)" } ?? origin.host
    }
}

/// Which caller may bind which host. Our own names and this machine's are never given away:
/// requests with them (a proxy that sends its upstream's address, a health check) are ours.
struct HostBinding {
    private static let localNames = [".localhost", ".test"]

    /// Nil if the public URL is invalid; then no name is known to be ours.
    let own: PublicAddress?
    /// The caller is an operator or a key of the platform.
    let isPlatform: Bool

    init(_ call: Call) {
        own = PublicAddress(call.services.publicURL)
        isPlatform = call.principal.platform
    }

    /// 422 with the first host of `next` that is neither in `current` nor allowed to the caller.
    func check(_ next: [String], besides current: [String], in change: Change) async throws {
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

    /// Why the caller may not bind a host (in the form of `ClientHost.of`); nil if it may.
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

    /// Only the platform may bind this machine's names, and only on a loopback server.
    private func localRefusal(_ name: String, _ port: Int?) -> String? {
        guard isPlatform, let own, own.isLoopback else {
            return
                "is a name of the local machine, which only the platform may bind, and only on a "
                + "server whose own address is a loopback address"
        }
        // `localhost` without a port would cover every port, ours too.
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
