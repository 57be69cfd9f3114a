import HTTP

/// A page that is built at the start. It is compressed, has a strong ETag, and is served with the
/// console's content security policy.
struct StaticPage: Sendable {
    private let asset: Asset
    private let policy: String

    /// Creates the page. The digests are the SHA-256 hashes in base64 of the page's only `<style>`
    /// and, if it has one, its only `<script>`; all other inline code is blocked.
    init(html: [UInt8], styleDigest: String, scriptDigest: String? = nil) {
        asset = Asset(html, type: ContentType.html)
        policy =
            "default-src 'none'; style-src 'sha256-\(styleDigest)'; "
            + (scriptDigest.map { "script-src 'sha256-\($0)'; " } ?? "")
            + "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    func response(for request: Request) -> Response {
        var answer = asset.response(for: request, cacheControl: "no-cache")
        answer.set("content-security-policy", policy)
        return answer
    }
}

extension Response {
    private static let isLong = 4_096

    /// Returns the response. A long body is compressed by gzip if one of our own pages sent the
    /// request: a list of 50 rows shrinks to a tenth. Programs get lists uncompressed, since for
    /// them time matters more than size.
    ///
    /// Compression cannot leak a secret to an attacker whose text is in the response (BREACH): the
    /// browser's `Sec-Fetch-Site` proves that no other site sent the request, and no response to
    /// GET contains a secret.
    package func compressed(for request: Request) -> Response {
        guard case .bytes(let bytes) = body, bytes.count >= Self.isLong, request.method == .get,
            request.first("sec-fetch-site")?.utf8.elementsEqual("same-origin".utf8) ?? false,
            first("content-encoding") == nil, first("etag") == nil,
            AcceptEncoding.weight(of: .gzip, request.all("accept-encoding")) > 0,
            let compressed = Gzip.compress(bytes, level: .quick)
        else { return self }
        var answer = self
        answer.body = .bytes(compressed)
        answer.set("content-encoding", "gzip")
        answer.fields.append(Field("vary", "Accept-Encoding"))
        return answer
    }
}

/// The security header fields of every response of the console.
enum SecurityHeaders {
    /// The content security policy. Pages may load only files of this origin, and may not use a
    /// string as markup or script.
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
