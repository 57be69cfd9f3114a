import Domain
import Text

extension ProviderRow {
    /// Whether its word alone proves such an address, as `auto_link` requires it: a
    /// verified claim does not, since other issuers may make the same one. `hostedDomain`: Google's
    /// `hd`.
    package func isAuthoritative(
        for domain: String, emailVerified: Bool?, hostedDomain: String?
    ) -> Bool {
        guard tenantID == nil, let provider else { return false }
        let key = IdentityKey(provider: provider.kind, issuer: issuer, subject: "")
        let attempt = Attempt(
            trigger: .federated, identity: key, address: .missing, emailVerified: emailVerified,
            hostedDomain: hostedDomain.flatMap { try? DomainName($0).ascii })
        return AddressTrust.ofProvider(provider, attempt: attempt, domain: domain, ownDomain: nil)
            == .authoritative
    }

    /// Whether there are addresses there that its word alone proves.
    package func isAuthoritative(for domain: String) -> Bool {
        isAuthoritative(for: domain, emailVerified: true, hostedDomain: domain)
    }
}
