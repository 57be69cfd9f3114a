import HTTP
import Storage
import Text

extension Dispatcher {
    /// Runs the handler once for the claim; a repeated claim gets the stored response.
    func once(
        _ claim: IdempotencyClaim, _ store: any IdempotencyStore, _ endpoint: Endpoint,
        _ exchange: inout Exchange
    ) async throws -> Response {
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
            // The same call is sent again after the step-up.
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
