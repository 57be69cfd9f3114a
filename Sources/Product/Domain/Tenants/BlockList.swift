import Text

/// Which addresses a tenant keeps out: its own lists, and well-known disposable domains. It holds
/// for those whom no operator and no invite let in.
extension TenantPolicy {
    /// The member of the policy by which an address is blocked; raw values are its name.
    package enum Block: String, Sendable, CaseIterable {
        case email = "blocked_emails"
        case domain = "blocked_domains"
        case disposable = "block_disposable"
    }

    /// nil: the address is not blocked. `key`: its email key; `domain`: an A-label.
    package func block(ofKey key: String, domain: String) -> Block? {
        if blockedEmails.contains(where: { sameBytes($0, key) }) { return .email }
        if !blockedDomains.isEmpty {
            let names = DisposableDomains.suffixes(of: domain)
            if blockedDomains.contains(where: { blocked in
                names.contains { sameBytes($0, blocked) }
            }) {
                return .domain
            }
        }
        return blockDisposable && DisposableDomains.contain(domain) ? .disposable : nil
    }
}
