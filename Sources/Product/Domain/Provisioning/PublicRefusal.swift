/// What a stranger may read about a refusal: the same for every reason.
package enum PublicRefusal {
    /// One short sentence without a final stop, because Cognito adds its own.
    /// `reference` is the decision's short reference.
    package static func text(reference: String) -> String {
        "Sign-up is not available for this account. Contact your administrator (ref \(reference))"
    }
}
