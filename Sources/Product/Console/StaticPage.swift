import HTTP

/// A page that is built at start: compressed, with a strong ETag, under the console's content
/// security policy.
package struct StaticPage: Sendable {
    private let asset: Asset
    private let styleDigest: String

    /// `styleDigest`: SHA-256 of the page's one `<style>`, as base64; other inline code is blocked.
    package init(html: [UInt8], styleDigest: String) {
        asset = Asset(html, type: ContentType.html)
        self.styleDigest = styleDigest
    }

    package func response(for request: Request) -> Response {
        var answer = asset.response(for: request, cacheControl: "no-cache")
        answer.set(
            "content-security-policy",
            "default-src 'none'; style-src 'sha256-\(styleDigest)'; img-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        return answer
    }
}
