extension Evaluation {
    /// Rule 2: the following rules need an address.
    mutating func address() -> Verdict? {
        switch attempt.address {
        case .missing: return refuse(.address, .emailMissing, "")
        case .malformed: return refuse(.address, .emailInvalid, "")
        case .parsed:
            note(.address, "well formed", "")
            return nil
        }
    }
}
