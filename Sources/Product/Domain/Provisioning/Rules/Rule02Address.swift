extension Evaluation {
    /// Rule 2: the following rules need an address.
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
