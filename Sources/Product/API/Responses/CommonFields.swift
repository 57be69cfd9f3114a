/// The fields of every response besides its request id and `vary`. `isPrivate`: only for its caller
/// and not to be stored.
package enum CommonFields {
    package static let vary: StaticString = "Origin"
    /// Makes the browser use only https for a year (RFC 6797).
    package static let strictTransportSecurity: StaticString = "max-age=31536000"

    package static func forEach(
        isTLS: Bool, isPrivate: Bool, _ body: (StaticString, StaticString) -> Void
    ) {
        body("x-content-type-options", "nosniff")
        if isTLS { body("strict-transport-security", strictTransportSecurity) }
        if isPrivate { body("cache-control", "no-store") }
    }
}
