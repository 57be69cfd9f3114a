import HTTP
import Storage
import Text

/// One use of an `Idempotency-Key`. The store keeps digests, never the key itself: the key decrypts
/// stored responses that contain a secret.
package struct IdempotencyClaim: Sendable {
    /// The id of this one use: two requests with one key are two claims.
    package var id = UUID.random()
    package var principal: CallerPrincipal
    package var tenant: UUID?
    /// Part of the key's identity.
    package var method: Method
    /// With the query: a dry run is another request.
    package var path: String
    /// 1–255 printable ASCII.
    package var key: String
    /// Compared by digest: another body with the same key is `.mismatch`.
    package var body: [UInt8]

    /// The store's answer to `begin`.
    package enum State: Sendable {
        /// The caller may run; `complete` or `abandon` follows.
        case fresh
        /// The stored response.
        case replay([UInt8])
        case inProgress
        /// The key was used with another body.
        case mismatch
        /// The caller's stored responses have reached the limit; seconds until some expire.
        case overQuota(retryAfter: Int64)
    }

    /// Nil when there is no key.
    init?(_ call: Call) throws {
        guard let key = try Self.key(of: call.request) else { return nil }
        principal = call.principal
        tenant = call.resolvedTenant?.id
        method = call.request.method
        path = call.request.path + (call.request.query.isEmpty ? "" : "?" + call.request.query)
        self.key = key
        body = call.request.body
    }

    static func key(of request: Request) throws -> String? {
        let keys = request.all("idempotency-key")
        guard let key = keys.first else { return nil }
        guard keys.count == 1, (1...255).contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            throw Problem(
                .invalidRequest, "Idempotency-Key must be one line of 1 to 255 printable ASCII.")
        }
        return key
    }
}

/// Stores responses for 24 hours, shared by all replicas.
package protocol IdempotencyStore: Sendable {
    func begin(_ claim: IdempotencyClaim) async throws -> IdempotencyClaim.State
    /// Stores the response and commits `change`, both or neither. `sealed`: the response contains a
    /// one-time secret and is encrypted under the key's value.
    func complete(
        _ claim: IdempotencyClaim, answer: [UInt8], sealed: Bool, with change: HeldChange
    ) async throws
    /// The response is not stored (401, 429, 5xx): the key may be used again.
    func abandon(_ claim: IdempotencyClaim) async throws
}
