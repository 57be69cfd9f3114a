extension Evaluation {
    /// Rule 2: refuses an attempt without a valid address, which the following rules need.
    mutating func address() -> Verdict? {
        switch attempt.address {
        case .missing where attempt.isAddressOpen:
            return refuse(.address, .emailUnverified, "two invited addresses")
        case .missing: return refuse(.address, .emailMissing, attempt.addressFault ?? "")
        case .malformed: return refuse(.address, .emailInvalid, "")
        case .parsed where attempt.isAddressOpen:
            return refuse(.address, .emailUnverified, "two invited addresses")
        case .parsed:
            note(.address, "well formed", "")
            return nil
        }
    }
}

extension Evaluation {
    /// Returns how far the provider's assertion or an invite's token proves the address.
    func computeAddressTrust(_ provider: Provider) -> AddressTrust {
        guard let email = attempt.email else { return .none }
        let own = provider.tenantID.flatMap { facts.tenants[$0]?.domain }
        let word = AddressTrust.ofProvider(
            provider, attempt: attempt, domain: email.domain, ownDomain: own)
        guard attempt.hasInviteToken, let invite = facts.invite?.invite, invite.email == email
        else {
            return word
        }
        // On the page that accepts an invite, the token proves the address even if the link was not
        // mailed, but for this invite only. Elsewhere only a mailed token proves it.
        let proves = invite.delivery == .mail || attempt.trigger == .invitePage
        return proves ? max(word, .claim) : word
    }

    /// Rule 5: the address must be proved. A native sign-up is decided as if its address were
    /// already proved.
    mutating func trustInAddress() -> Verdict? {
        if attempt.trigger.isUnprovedNative {
            addressTrust = .proved
            note(.addressTrust, "as if vouched for", "native")
            return nil
        }
        guard addressTrust > .none else { return refuse(.addressTrust, .emailUnverified, "") }
        note(.addressTrust, TraceEntry.addressProved, addressTrust.rawValue)
        return nil
    }
}
