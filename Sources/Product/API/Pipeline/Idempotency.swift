import HTTP
import Storage
import Text

/// One use of an `Idempotency-Key`. The store keeps digests, never the key itself: the key decrypts
/// stored responses that contain a secret.
package struct IdempotencyClaim: Sendable {
    /// The id of this one use: two requests with one key are two claims.
    package var id = UUID.random()
    package var principal: CallerPrincipal
    /// nil for paths without a tenant.
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

extension Dispatcher {
    /// Runs the handler once for the claim; a repeated claim gets the stored response.
    func once(
        _ claim: IdempotencyClaim, _ store: any IdempotencyStore, _ endpoint: Endpoint,
        _ exchange: inout Exchange
    ) async throws -> Response {
        switch try await store.begin(claim) {
        case .fresh: break
        case .replay(let bytes):
            guard var response = Response(kept: bytes) else { throw Problem.internalError }
            response.set("idempotent-replayed", "true")
            return response
        case .inProgress:
            throw Problem(
                .requestInProgress, "The first request with this Idempotency-Key is still running.",
                fields: [Field("retry-after", "1")])
        case .mismatch:
            throw Problem(
                .idempotencyMismatch, "This Idempotency-Key was used with another body.")
        case .overQuota(let seconds):
            throw Problem(
                .idempotencyQuota,
                "The credential has as many kept answers as it may; send no Idempotency-Key, or wait.",
                fields: [Field("retry-after", "\(seconds)")])
        }
        let change = HeldChange()
        let call = exchange.call
        var response: Response
        do {
            response = try await HeldChange.$current.withValue(change) {
                try await endpoint.handle(call)
            }
        } catch {
            await change.rollback()
            let problem = self.problem(for: error, &exchange)
            // A write that may have happened must not be repeated: the claim stays in progress.
            if problem.code == .commitUnknown { throw problem }
            response = problem.response(requestID: exchange.problemID)
        }
        if let bytes = response.keptBytes {
            try await store.complete(
                claim, answer: bytes, sealed: endpoint.secret, with: change)
        } else {
            try await change.commit()
            try await store.abandon(claim)
        }
        return response
    }
}

extension Response {
    /// The response as the store keeps it: status, lines of fields, an empty line, the body. Nil if
    /// it is not stored.
    var keptBytes: [UInt8]? {
        guard (200..<300).contains(status) || (400..<500).contains(status), status != 401,
            status != 429
        else { return nil }
        var bytes = Array("\(status)\n".utf8)
        for field in fields { bytes += Array("\(field.name): \(field.value)\n".utf8) }
        bytes.append(0x0A)
        switch body {
        case .empty: return bytes
        case .bytes(let body): return bytes + body
        case .stream: return nil
        }
    }

    init?(kept bytes: [UInt8]) {
        var rest = bytes[...]
        func line() -> String? {
            guard let end = rest.firstIndex(of: 0x0A) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return String(decoding: rest[..<end], as: UTF8.self)
        }
        guard let status = line().flatMap({ Int($0) }) else { return nil }
        var fields: [Field] = []
        while let text = line(), !text.isEmpty {
            guard let colon = text.firstIndex(of: ":") else { return nil }
            let value = text[text.index(after: colon)...].trimmingSpaces
            fields.append(Field(String(text[..<colon]), String(value)))
        }
        self.init(status, fields: fields, body: rest.isEmpty ? .empty : .bytes(Array(rest)))
    }
}
