import Text

extension Evaluation {
    /// Rule 2: an address is needed from here on.
    mutating func address() -> Verdict? {
        switch attempt.address {
        case .missing: return refuse(.address, .emailMissing, "")
        case .malformed: return refuse(.address, .emailInvalid, "")
        case .parsed:
            note(.address, "well formed", "")
            return nil
        }
    }

    /// The provider's word, or the proof that a token carries.
    func computeAddressTrust(_ provider: Provider) -> AddressTrust {
        guard let email = attempt.email else { return .none }
        let own = provider.tenantID.flatMap { facts.tenants[$0]?.domain }
        let word = AddressTrust.ofProvider(
            provider, attempt: attempt, domain: email.domain, ownDomain: own)
        guard attempt.hasInviteToken, let invite = facts.invite?.invite, invite.email == email
        else {
            return word
        }
        // The acceptance page takes the token with a password as proof for this one invite,
        // whichever way the link travelled; elsewhere only a mailed token proves the mailbox.
        let proves = invite.delivery == .mail || attempt.trigger == .invitePage
        return proves ? max(word, .claim) : word
    }

    /// Rule 5: the address must be vouched for; a native sign-up is judged as if it were.
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
