import Domain
import Federation
import JSON
import Storage

extension ProviderRow {
    /// The provider as an issuer of id tokens; nil for a kind that issues none.
    package var relyingParty: RelyingParty? {
        guard let kind = ProviderKind(rawValue: kind), kind != .password else { return nil }
        var endpoints: [RelyingParty.Endpoint: String] = [:]
        for endpoint in RelyingParty.Endpoint.allCases {
            endpoints[endpoint] = document["endpoints"]?[endpoint.rawValue]?.string
        }
        return RelyingParty(
            provider: id, kind: kind, issuer: issuer, clientID: document["client_id"]?.string,
            otherAudiences: (document["client_tenants"]?.members ?? []).map(\.name),
            authorizedParties: (document["authorized_parties"]?.array ?? []).compactMap(\.string),
            endpoints: endpoints, owner: tenantID)
    }
}
