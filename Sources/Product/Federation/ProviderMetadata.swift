import Domain
import JSON

/// Where a provider's endpoints stand: what it publishes, under what the operator has set.
package struct ProviderMetadata: Sendable {
    package let endpoints: [RelyingParty.Endpoint: String]
    /// The authorization response names its issuer (RFC 9207), so its absence is a fault.
    package let namesIssuer: Bool
    /// How the client's secret travels: `client_secret_basic`, or `client_secret_post` where that
    /// alone is offered (OpenID Connect Core section 9).
    package let takesSecretInHeader: Bool

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
            found[endpoint] = document[endpoint.rawValue]?.string
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
