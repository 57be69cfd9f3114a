/// The refusal as a stranger reads it: the same text for every reason.
package enum PublicRefusal {
    /// One short sentence without a full stop, because Cognito adds its own. `reference`: the
    /// decision's short reference.
    package static func text(reference: String) -> String {
        "Sign-up is not available for this account. Contact your administrator (ref \(reference))"
    }
}
