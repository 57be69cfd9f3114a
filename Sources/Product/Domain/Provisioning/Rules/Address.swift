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
    /// Returns the trust in the address from the provider's assertion or from an invite's token.
    func computeAddressTrust(_ provider: Provider) -> AddressTrust {
        guard let email = attempt.email else { return .none }
        let own = provider.tenantID.flatMap { facts.tenants[$0]?.domain }
        let word = AddressTrust.ofProvider(
            provider, attempt: attempt, domain: email.domain, ownDomain: own)
        guard attempt.hasInviteToken, let invite = facts.invite?.invite, invite.email == email
        else {
            return word
        }
        // At the page that accepts an invite, its token counts together with the new password, for
        // this invite only, however the link was delivered. Elsewhere only a mailed token proves
        // the mailbox.
        let proves = invite.delivery == .mail || attempt.trigger == .invitePage
        return proves ? max(word, .claim) : word
    }

    /// Rule 5: the address must be proved. A native sign-up is decided as if it were already
    /// proved.
    mutating func trustInAddress() -> Verdict? {
        if attempt.trigger.isUnprovedNative {
            addressTrust = .proved
            note(.addressTrust, "as if vouched for", "native")
            return nil
        }
        guard addressTrust > .none else { return refuse(.addressTrust, .emailUnverified, "") }
        note(.addressTrust, "vouched for", addressTrust.rawValue)
        return nil
    }
}
