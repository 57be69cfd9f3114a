import API
import HTTP

/// `/.well-known/jwks.json`: the public keys of access tokens (RFC 7517 section 5).
package enum KeySetEndpoint {
    package static func endpoint(_ tokens: AccessTokens) -> Endpoint {
        Endpoint(
            .get, "/.well-known/jwks.json", id: "getKeySet", tag: "Keys",
            summary: "The public keys of access tokens.", access: .open,
            answers: [Answer(200, .other(["application/jwk-set+json"]))]
        ) { _ in
            var answer = Response(200, type: "application/jwk-set+json", try await tokens.keySet())
            // Shorter than the time between a key's publication and its first signature.
            answer.set("cache-control", "public, max-age=3600")
            return answer
        }
    }
}
