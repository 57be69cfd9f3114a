import HTTP

/// The fields of every response besides its request id. `isPrivate`: only for its caller and not to
/// be stored.
package enum CommonFields {
    package static func forEach(isTLS: Bool, isPrivate: Bool, _ body: (String, String) -> Void) {
        body("x-content-type-options", "nosniff")
        if isTLS { body("strict-transport-security", "max-age=31536000") }
        if isPrivate { body("cache-control", "no-store") }
        body("vary", "Origin")
    }
}
