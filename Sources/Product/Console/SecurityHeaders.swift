import HTTP

/// Header fields of every console response.
enum SecurityHeaders {
    /// Allows only files of this origin, and no string as markup or script.
    static let contentSecurityPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
        connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; \
        form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
        trusted-types 'none'
        """

    private static let fields = [
        Field("content-security-policy", contentSecurityPolicy),
        Field("x-content-type-options", "nosniff"),
        Field("referrer-policy", "same-origin"),
        Field("cross-origin-opener-policy", "same-origin"),
        Field("cross-origin-resource-policy", "same-origin"),
        Field(
            "permissions-policy",
            "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ]

    static func added(to response: Response) -> Response {
        var response = response
        response.fields += fields
        return response
    }
}
