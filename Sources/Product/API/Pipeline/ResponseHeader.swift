import HTTP
import JSON

/// The header fields of responses that callers read, as the OpenAPI document declares them. Pages of
/// allowed origins may read them all (`CORSProfile`).
package enum ResponseHeader: String, CaseIterable, Sendable {
    case requestID = "X-Request-Id"
    case etag = "ETag"
    case location = "Location"
    case link = "Link"
    case retryAfter = "Retry-After"
    case rateLimit = "RateLimit-Limit"
    case rateRemaining = "RateLimit-Remaining"
    case rateReset = "RateLimit-Reset"
    case replayed = "Idempotent-Replayed"
    case position = "X-Gatehouse-Position"
    case authenticate = "WWW-Authenticate"

    private var description: String {
        switch self {
        case .requestID:
            "The id of the request, also in the server's log and in a problem's `request_id`. A "
                + "request can set it with this field; otherwise the server creates an id."
        case .etag:
            "The version of the object. Send it as `If-Match` to change exactly this version, as "
                + "`If-None-Match` to fetch only a newer one."
        case .location: "The path of the object or job that was created."
        case .link:
            "The path of the next page, with `rel=\"next\"`; absent on the last page (RFC 8288)."
        case .retryAfter: "The number of seconds to wait before you repeat the request."
        case .rateLimit:
            "The number of requests that the limit permits in its period; present if the API key "
                + "has a rate limit, and in some responses with status 429."
        case .rateRemaining: "The number of requests that are left in the period."
        case .rateReset: "The number of seconds until the period ends."
        case .replayed:
            "`true` if the response is the stored one of an earlier request with the same "
                + "`Idempotency-Key`; absent otherwise."
        case .position:
            "The position of this write in the database; absent if the server has no standby "
                + "databases. Send it in list requests, so that they return data that includes "
                + "this write."
        case .authenticate:
            "The way to authenticate: `Bearer realm=\"gatehouse\"`; for a refused id token also "
                + "`error=\"invalid_token\"`."
        }
    }

    private var schema: JSONValue {
        let isNumber = [.retryAfter, .rateLimit, .rateRemaining, .rateReset].contains(self)
        return .object([.init("type", .string(isNumber ? "integer" : "string"))])
    }

    /// The declarations of all, for the document's components.
    static var components: JSONValue {
        .object(
            allCases.map { header in
                JSONValue.Member(
                    header.rawValue,
                    .object([
                        .init("description", .string(header.description)),
                        .init("schema", header.schema),
                    ]))
            })
    }

    /// References to the declarations.
    static func references(_ headers: [ResponseHeader]) -> JSONValue.Member {
        .init(
            "headers",
            .object(
                allCases.filter(headers.contains).map { header in
                    JSONValue.Member(
                        header.rawValue,
                        .object([
                            .init(
                                "$ref", .string("#/components/headers/\(header.rawValue)"))
                        ]))
                }))
    }
}

extension Endpoint {
    /// The header fields that a response may have. `answer` is the declared one; `nil` for a problem
    /// or 304.
    func headers(of status: Int, _ answer: Answer? = nil) -> [ResponseHeader] {
        var headers: [ResponseHeader] = [.requestID] + (answer?.headers ?? [])
        if access != .open || status == 429 {
            headers += [.rateLimit, .rateRemaining, .rateReset]
        }
        if idempotent { headers.append(.replayed) }
        if method != .get, !hook { headers.append(.position) }
        switch status {
        case 304, 412: headers.append(.etag)
        case 401: headers.append(.authenticate)
        case 409, 429, 503: headers.append(.retryAfter)
        default: break
        }
        switch answer?.content {
        case .object(let shape) where shape.isVersioned: headers.append(.etag)
        case .list where query.contains(where: { $0.name == "cursor" }): headers.append(.link)
        default: break
        }
        return headers
    }

    /// Whether a GET has an ETag, so that it can be conditional (RFC 9110 section 13.1.2).
    var isConditional: Bool {
        method == .get && answers.contains { headers(of: $0.status, $0).contains(.etag) }
    }
}
