import Text

/// Answers preflights. A preflight is the OPTIONS request with which a browser asks, before a
/// page's own request, whether the page may send that request (Fetch standard, CORS-preflight
/// fetch).
extension CORSPolicy {
    func preflight(_ request: CORSRequest, _ match: Match) -> CORSDecision {
        let methods = Self.methods(of: request.routeMethods ?? CORSProfile.allMethods)
        guard let wanted = request.requestMethod,
            methods.contains(where: { $0.utf8.elementsEqual(wanted.utf8) })
        else { return refuse(request, .methodNotAllowed, rule: match.rule) }
        let headers = request.profile.allowedHeaders
        guard
            Self.asked(request.requestHeaders).allSatisfy({ name in
                headers.contains { $0.utf8.elementsEqual(name) }
            })
        else { return refuse(request, .headerNotAllowed, rule: match.rule) }
        var decision = Self.answer(request, match.rule, .listed, allowed: true, status: 204)
        decision.headers += Self.origin(request, match)
        decision.headers += [
            .init("access-control-allow-methods", methods.joined(separator: ", ")),
            .init("access-control-allow-headers", headers.joined(separator: ", ")),
            .init("access-control-max-age", "\(CORSProfile.maxAge)"),
        ]
        if request.asksPrivateNetwork, privateNetwork, match.mayReachPrivateNetwork {
            decision.headers.append(.init("access-control-allow-private-network", "true"))
        }
        return decision
    }

    /// Returns the route's methods together with those that the server adds: OPTIONS always, and
    /// HEAD if there is GET.
    private static func methods(of route: [String]) -> [String] {
        var methods = route
        for (extra, given) in [("HEAD", route.contains("GET")), ("OPTIONS", true)]
        where given && !methods.contains(extra) {
            methods.append(extra)
        }
        return methods
    }

    /// Returns the names in a comma-separated list, in lower case.
    private static func asked(_ list: String?) -> [[UInt8]] {
        (list ?? "").utf8.split(separator: UInt8(ascii: ",")).compactMap { part in
            let name = ASCII.lower(part.filter { $0 != 0x20 && $0 != 0x09 })
            return name.isEmpty ? nil : name
        }
    }
}
