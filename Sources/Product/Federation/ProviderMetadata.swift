import Domain
import JSON
import Text

/// Where a provider's endpoints stand: what it publishes, under what the operator has set.
package struct ProviderMetadata: Sendable {
    package let endpoints: [RelyingParty.Endpoint: String]
    /// The authorization response names its issuer (RFC 9207), so its absence is a fault.
    package let namesIssuer: Bool
    /// How the client's secret travels: `client_secret_basic`, or `client_secret_post` where that
    /// alone is offered (OpenID Connect Core section 9).
    package let takesSecretInHeader: Bool

    /// Whether people or requests may be sent there: what a provider publishes is nobody's word but
    /// its own, and a page that follows it must not run a `javascript:`.
    private static func isAddress(_ text: String, publishedBy issuer: String) -> Bool {
        guard RelyingParty.isAddress(text) else { return false }
        let secure = "https://".utf8
        return text.utf8.starts(with: secure) || !issuer.utf8.starts(with: secure)
    }

    /// Only what the operator has set.
    init(overrides: [RelyingParty.Endpoint: String]) {
        endpoints = overrides
        namesIssuer = false
        takesSecretInHeader = true
    }

    /// Nil if it is no discovery document of that issuer (OpenID Connect Discovery section 4.3).
    init?(_ bytes: [UInt8], of party: RelyingParty) {
        guard let document = try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 16)),
            let issuer = document["issuer"]?.string, sameBytes(issuer, party.issuer)
        else { return nil }
        var found = party.endpoints
        for endpoint in RelyingParty.Endpoint.allCases where found[endpoint] == nil {
            if endpoint == .issuer { continue }
            found[endpoint] = document[endpoint.rawValue]?.string.flatMap {
                Self.isAddress($0, publishedBy: party.issuer) ? $0 : nil
            }
        }
        endpoints = found
        namesIssuer = document["authorization_response_iss_parameter_supported"]?.bool ?? false
        let ways = document["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string)
        takesSecretInHeader =
            ways.map { ways in
                ways.contains { sameBytes($0, "client_secret_basic") }
                    || !ways.contains { sameBytes($0, "client_secret_post") }
            } ?? true
    }
}
