import HTTP
import JSON
import Storage
import Text

extension Dispatcher {
    /// Runs the handler once for this use of an idempotency key. A repeated request gets the stored
    /// response.
    func once(
        _ claim: IdempotencyClaim, _ endpoint: Endpoint, _ exchange: inout Exchange
    ) async throws -> Response {
        let store = application.responses
        switch try await store.begin(claim) {
        case .fresh: break
        case .replay(let bytes):
            guard let kept = Response(kept: bytes) else { throw Problem.internalError }
            var response = try await followingMerges(kept, of: endpoint, exchange)
            response.set("idempotent-replayed", "true")
            return response
        case .inProgress:
            throw Problem(
                .requestInProgress, "The first request with this Idempotency-Key is still running.",
                fields: [Field("retry-after", "1")])
        case .mismatch:
            throw Problem(.idempotencyMismatch, "This Idempotency-Key was used with another body.")
        case .overQuota(let seconds):
            throw Problem(
                .idempotencyQuota,
                "The credential has reached its limit of stored responses; send no "
                    + "Idempotency-Key, or wait.",
                fields: [Field("retry-after", "\(seconds)")])
        }
        let change = HeldChange()
        let call = exchange.call
        var response: Response
        do {
            response = try await HeldChange.$current.withValue(change) {
                try await endpoint.answer(call)
            }
        } catch {
            await change.rollback()
            let problem = self.problem(for: error, &exchange)
            // The write may have been committed, so the same key must not run it again. The key
            // therefore remains in progress.
            if problem.code == .commitUnknown { throw problem }
            // The client repeats the request with the same key after the step-up, so the key is
            // released.
            if problem.code == .stepUpRequired {
                try await store.abandon(claim)
                throw problem
            }
            response = problem.response(requestID: exchange.problemID)
        }
        if let bytes = response.keptBytes {
            try await store.complete(claim, answer: bytes, sealed: endpoint.secret, with: change)
        } else {
            try await change.commit()
            try await store.abandon(claim)
        }
        return response
    }
}

extension Response {
    /// The bytes to store for a response: the status, the header fields line by line, an empty line
    /// and the body. `nil` for a response that is not stored.
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

/// A request's use of an `Idempotency-Key`. The database stores only a digest of the key, since the
/// key decrypts stored responses that contain a secret.
struct IdempotencyClaim: Sendable {
    /// The id of this use. Two requests with the same key have different ids.
    var id = UUID.random()
    var principal: CallerPrincipal
    var tenant: UUID?
    /// The method of the request. The same key with another method is a different use.
    var method: Method
    /// The path with the query, since a dry run, for example, is a different request.
    var path: String
    /// The value of the header field: 1 to 255 printable ASCII characters.
    var key: String
    /// The body, which is compared by its digest. Another body with the same key is a `.mismatch`.
    var body: [UInt8]

    /// The result of `ResponseStore.begin`.
    enum State: Sendable {
        /// The key is new: the caller runs the request, and then calls `complete` or `abandon`.
        case fresh
        /// The request is a repetition. The value is the stored response.
        case replay([UInt8])
        case inProgress
        /// The key was used with another body before.
        case mismatch
        /// The caller has reached its limit of stored responses. `retryAfter` is the number of
        /// seconds until some of them expire.
        case overQuota(retryAfter: Int64)
    }

    /// Reads the idempotency key of a call's request; `nil` if there is none.
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
                .invalidRequest,
                "Idempotency-Key must be one line of 1 to 255 printable ASCII characters.")
        }
        return key
    }
}

extension Dispatcher {
    /// Returns a stored response, changed for the users who were merged since it was stored. If the
    /// response is a merged user, the result is the user who remained (the winner), as GET returns
    /// it. In any other object, the ids of merged users are replaced by the ids of their winners.
    func followingMerges(
        _ kept: Response, of endpoint: Endpoint, _ exchange: Exchange
    ) async throws -> Response {
        guard let scope = try? exchange.call.scope, case .bytes(let bytes) = kept.body,
            let document = try? JSONValue(parsing: bytes)
        else { return kept }
        let kind = endpoint.kind(ofAnswer: kept.status)
        var ids = Set(kept.place?.split(separator: "/").compactMap { UUID(String($0)) } ?? [])
        _ = document.replacingIDs(as: kind) {
            ids.insert($0)
            return $0
        }
        let winners = ids.isEmpty ? [:] : try await scope.winners(over: Array(ids))
        if winners.isEmpty { return kept }
        if let id = document["id"]?.string.flatMap({ UUID($0) }), let winner = winners[id] {
            return try await user(winner, insteadOf: kept, exchange)
        }
        var response = kept
        response.body = .bytes(
            document.replacingIDs(as: kind) { winners[$0] ?? $0 }.encoded())
        if var place = kept.place {
            for (loser, winner) in winners {
                place = place.replacing(loser.description, with: winner.description)
            }
            response.set("location", place)
        }
        return response
    }

    /// The response with the winner of a merge. Throws 409 with the winner's id if the caller may
    /// not read users.
    private func user(
        _ winner: UUID, insteadOf kept: Response, _ exchange: Exchange
    ) async throws -> Response {
        let path = "/v1/tenants/\(try exchange.call.tenant.id)/users/\(winner)"
        var request = exchange.call.request
        (request.method, request.path, request.query) = (.get, path, "")
        guard let match = table.match(path), let endpoint = match.value(for: .get) else {
            throw Problem.internalError
        }
        var call = Call(
            request: request, parameters: match.parameters, application: application,
            now: exchange.call.now)
        call.principal = exchange.call.principal
        call.resolvedTenant = exchange.call.resolvedTenant
        guard endpoint.access.refusal(call.principal, in: call.resolvedTenant?.id) == nil else {
            throw Problem.conflict(
                "The user was merged; `conflicting_id` is the user who remains.",
                with: winner.description)
        }
        var response = try await endpoint.answer(call)
        response.status = kept.status
        response.set("content-location", path)
        if kept.place != nil { response.set("location", path) }
        return response
    }
}

extension Response {
    fileprivate var place: String? { first("location") }
}

extension Endpoint {
    /// The kind of the body that the endpoint returns with this status.
    fileprivate func kind(ofAnswer status: Int) -> Kind {
        for answer in answers where answer.status == status {
            if case .object(let shape) = answer.content { return .object(shape) }
        }
        return .object(
            ObjectShape([
                .readOnly("conflicting_id", .uuid, "The id of the object that is in conflict.")
            ]))
    }
}

extension JSONValue {
    /// The members in which the ids of merged users are not replaced: the loser of a merge, the
    /// merged ids of a user, and the ids in the request of a bulk action.
    private static let asGiven = ["loser", "merged_ids", "items"]

    /// The value with each id replaced. `kind` determines which texts are ids.
    fileprivate func replacingIDs(as kind: Kind, _ replace: (UUID) -> UUID) -> JSONValue {
        switch (kind, self) {
        case (.uuid, .string(let text)):
            return UUID(text).map { .string(replace($0).description) } ?? self
        case (.array(let kind, _), .array(let elements)):
            return .array(elements.map { $0.replacingIDs(as: kind, replace) })
        case (.object(let shape), .object(let members)):
            return .object(
                members.map { member in
                    guard !Self.asGiven.contains(where: { sameBytes($0, member.name) }),
                        let field = shape.field(member.name)
                    else { return member }
                    return Member(
                        member.name, member.value.replacingIDs(as: field.kind, replace))
                })
        default: return self
        }
    }
}
