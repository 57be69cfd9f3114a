import Domain
import HTTP
import JSON
import Storage
import Text

/// One error in the input. `pointer` is a JSON pointer into the body (RFC 6901), or `?name` for a
/// query parameter.
package struct FieldError: Sendable, Equatable {
    /// Identifies the wrong member by a JSON pointer; empty for the whole body.
    var pointer: String
    package var code: FieldCode
    /// The error in words. They complete a sentence that begins with the field's name.
    package var detail: String

    /// `detail` must not repeat the value, which may be a secret.
    package init(_ pointer: String, _ code: FieldCode, _ detail: String) {
        self.pointer = pointer
        self.code = code
        self.detail = detail
    }
}

/// An error response by RFC 9457, thrown from anywhere below the dispatcher.
package struct Problem: Error, Sendable {
    /// The maximum number of errors in a response.
    static let maxErrors = 100

    /// The HTTP status. Usually it is the default status of the code.
    package var status: Int
    /// The code for programs. It determines the document's `type`.
    package var code: Code
    package var detail: String
    /// The errors in the input; empty for any other problem.
    package var errors: [FieldError]
    /// Header fields of the response, for example `Retry-After`, `WWW-Authenticate` or `Allow`.
    package var fields: [Field]
    /// Further members of the document, for example the id of the conflicting object.
    package var members: [JSONValue.Member]
    /// The cause, which is logged but not sent.
    package var cause: String?
    /// Whether this is a 5xx that an app's contract requires although the server has no fault, for
    /// example because a provider is not set up. Anybody can cause it, so it is logged as a notice
    /// and raises no alert.
    package var isForeseen = false
    /// The page that a browser gets instead of the problem document. It does not change what is
    /// logged.
    package var page: Response?

    /// If `status` is `nil`, the code's default applies.
    package init(
        _ code: Code, _ detail: String, status: Int? = nil, errors: [FieldError] = [],
        fields: [Field] = [], members: [JSONValue.Member] = []
    ) {
        self.status = status ?? code.status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.fields = fields
        self.members = members
    }

    /// A 422 response with the first hundred errors. `detail` describes the first error, since most
    /// programs print only `detail`.
    package static func invalid(_ errors: [FieldError]) -> Problem {
        let sentence = MemberFault.sentence(
            errors.first.map { ($0.pointer, $0.detail) }, of: errors.count)
        return Problem(.validationFailed, sentence, errors: Array(errors.prefix(maxErrors)))
    }

    /// A 404 response. `what` completes the sentence "There is no such …".
    package static func notFound(_ what: String = "object") -> Problem {
        Problem(.notFound, StorageFailure.notFound(what).detail)
    }

    /// A 409 response with the id of the conflicting object.
    package static func conflict(
        _ detail: String, with id: String, code: Code = .conflict
    ) -> Problem {
        Problem(
            code, detail, status: 409,
            members: [JSONValue.Member("conflicting_id", .string(id))])
    }

    package static func unauthorized(_ detail: String = "A credential is needed.") -> Problem {
        Problem(
            .unauthorized, detail,
            fields: [Field("www-authenticate", "Bearer realm=\"gatehouse\"")])
    }

    /// A 403 response for an authenticated caller who lacks the right.
    package static func forbidden(
        _ detail: String = "The credential does not permit this."
    ) -> Problem {
        Problem(.forbidden, detail)
    }

    /// A 403 response for a caller who lacks this right. If the caller is an API key that lacks the
    /// scope of the right, it names the scope.
    package static func missing(_ right: Right, _ permission: Permission) -> Problem {
        guard case .forbidden(let name) = permission else { return .missing(right.rawValue) }
        return .missing(name)
    }

    /// A 403 response for a caller who lacks the scope or the right with this name.
    package static func missing(_ name: String) -> Problem {
        let isScope = ManagementScope(named: name) != nil
        return .forbidden("The \(isScope ? "scope" : "right") \(name) is missing.")
    }

    /// A 503 response: the database is unavailable. Nothing was written, and a retry is safe.
    package static let unavailable = Problem(
        .unavailable, StorageFailure.unavailable.detail,
        fields: [Field("retry-after", "1")])

    /// A 429 response with the header fields of draft-ietf-httpapi-ratelimit-headers. `limit` is
    /// the limit that was reached, and `retryAfter` the number of seconds until a request is
    /// possible again.
    package static func rateLimited(
        _ detail: String, limit: Int? = nil, retryAfter: Int64
    ) -> Problem {
        var fields = [Field("retry-after", "\(retryAfter)")]
        if let limit {
            fields.append(Field("ratelimit-limit", "\(limit)"))
            fields.append(Field("ratelimit-remaining", "0"))
            fields.append(Field("ratelimit-reset", "\(retryAfter)"))
        }
        return Problem(.rateLimited, detail, fields: fields)
    }

    /// A 503 response: the connection was lost during the commit, so it is unknown whether the
    /// change was written.
    package static let commitUnknown = Problem(
        .commitUnknown, StorageFailure.commitUnknown.detail,
        fields: [Field("retry-after", "1")])

    /// A 500 response. Only the log has the cause.
    package static let internalError = Problem(
        .internalError,
        "Something went wrong on the server; its log has the details under the request id.")

    /// The HTTP response. If `requestID` is `nil`, the document has no request id, since a retry
    /// must get exactly the same bytes.
    package func response(requestID: String?) -> Response {
        // A redirect has no body, since the page that it leads to explains the error.
        if (300..<400).contains(status) { return Response(status, fields: fields) }
        var body: [JSONValue.Member] = [
            .init("type", .string("/docs/errors#\(code.rawValue)")),
            .init("title", .string(code.title)),
            .init("status", .int(status)),
            .init("detail", .string(detail)),
            .init("code", .string(code.rawValue)),
        ]
        if let requestID { body.append(.init("request_id", .string(requestID))) }
        body.append(.init("error", .string(detail)))
        if !errors.isEmpty { body.append(.init("errors", .array(errors.map(\.json)))) }
        body += members
        var response = Response(
            status, type: "application/problem+json", JSONValue.object(body).encoded())
        for field in fields { response.fields.append(field) }
        return response
    }
}

extension Problem: RowRefusal {
    /// The problem that an error means to the caller; `nil` if the error is a fault of the server.
    package init?(_ error: any Error) {
        if let problem = error as? Problem {
            self = problem
        } else if let failure = StorageFailure(error) {
            self = Problem(failure)
        } else {
            return nil
        }
    }

    private init(_ failure: StorageFailure) {
        let code = Code(rawValue: failure.code) ?? .conflict
        switch failure {
        case .unavailable: self = .unavailable
        case .commitUnknown: self = .commitUnknown
        case .limited(let detail, let limit, let seconds):
            self = .rateLimited(detail, limit: limit, retryAfter: seconds)
        case .invalid(let faults):
            self = .invalid(
                faults.map {
                    FieldError($0.pointer, FieldCode(rawValue: $0.code) ?? .invalid, $0.detail)
                })
        case .conflict(_, let detail, let id?):
            self = .conflict(detail, with: id.description, code: code)
        case .conflict(_, let detail, nil): self.init(code, detail, status: 409)
        case .notFound, .versionMismatch, .forbidden: self.init(code, failure.detail)
        }
    }

    package var row: (code: String, detail: String, conflictingID: UUID?)? {
        guard status < 500 else { return nil }
        let other = members.first { sameBytes($0.name, "conflicting_id") }
        return (code.rawValue, detail, other?.value.string.flatMap { UUID($0) })
    }
}

extension FieldError {
    var json: JSONValue {
        .object([
            .init("pointer", .string(pointer)), .init("code", .string(code.rawValue)),
            .init("detail", .string(detail)),
        ])
    }
}

/// The header fields of every response, except its request id and `Vary`. If `isPrivate` is true,
/// the response is only for its caller and must not be stored.
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
