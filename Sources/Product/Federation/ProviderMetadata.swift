import JSON
import Text

/// A provider's endpoints: the published ones, overridden by the operator's.
package struct ProviderMetadata: Sendable {
    package let endpoints: [RelyingParty.Endpoint: String]
    /// True if the authorization response must name its issuer (RFC 9207).
    package let namesIssuer: Bool
    /// True: `client_secret_basic`. False: `client_secret_post`, if only that is offered (OpenID
    /// Connect Core section 9).
    package let takesSecretInHeader: Bool

    /// Whether people or requests may be sent to a published address: pages link to it, so it must
    /// not be a `javascript:` URL.
    private static func isAddress(_ text: String, publishedBy issuer: String) -> Bool {
        guard RelyingParty.isAddress(text) else { return false }
        let secure = "https://".utf8
        return text.utf8.starts(with: secure) || !issuer.utf8.starts(with: secure)
    }

    /// Uses the operator's endpoints only.
    init(overrides: [RelyingParty.Endpoint: String]) {
        endpoints = overrides
        namesIssuer = false
        takesSecretInHeader = true
    }

    /// nil if the bytes are no discovery document of that issuer (OpenID Connect Discovery section
    /// 4.3).
    init?(_ bytes: [UInt8], of party: RelyingParty) {
        guard
            let document = (try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 16)))?
                .withoutNulls, let issuer = document["issuer"]?.string,
            sameBytes(issuer, party.issuer)
        else { return nil }
        var found = party.endpoints
        for endpoint in RelyingParty.Endpoint.allCases where found[endpoint] == nil {
            if endpoint == .issuer || endpoint == .tokenCheck { continue }
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
