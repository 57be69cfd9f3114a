import HTTP

/// The fields of every response besides its request id and `vary`. `isPrivate`: only for its caller
/// and not to be stored.
package enum CommonFields {
    package static let vary: StaticString = "Origin"

    package static func forEach(
        isTLS: Bool, isPrivate: Bool, _ body: (StaticString, StaticString) -> Void
    ) {
        body("x-content-type-options", "nosniff")
        if isTLS { body("strict-transport-security", Response.strictTransportSecurity) }
        if isPrivate { body("cache-control", "no-store") }
    }
}
