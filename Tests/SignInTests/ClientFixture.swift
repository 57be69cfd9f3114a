import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// A tenant with one client switched on, and a page of an allowed origin beside the app itself.
protocol ClientFixture: Sendable {
    static var mount: String { get }
    /// A web page's, or the app's own web view's.
    static var origin: String { get }
    /// What a preflight may ask for beside what every client may.
    static var headers: String { get }
    var service: TestService { get }
}

extension ClientFixture {
    static var origin: String { "https://web.acme.example" }

    static func allowOrigin(_ service: TestService, credentials: Bool = false) async throws {
        try await service.manage(
            .post, "/v1/tenants/acme/cors-origins",
            #"{"origin":"\#(origin)","credentials":\#(credentials)}"#)
    }

    /// One request to the client, which the allowed page has to be able to read the answer of.
    func call(
        _ method: HTTP.Method, _ path: String, _ json: String? = nil, fields: [Field] = []
    ) async throws -> TestAnswer {
        let origin = Field("origin", Self.origin)
        let answer = try await service.send(
            method, Self.mount + path, json: json, fields: fields + [origin])
        expectReadable(answer, at: Self.origin, "\(method.rawValue) \(path)")
        return answer
    }

    /// Each of these may be asked for beforehand by the allowed page, and by no other.
    func expectPreflights(
        _ calls: [(method: HTTP.Method, path: String)],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let base =
            "authorization, content-type, accept, x-requested-with, idempotency-key, if-match, "
            + "if-none-match, x-request-id, traceparent, tracestate, last-event-id, "
            + "x-gatehouse-position"
        for (method, path) in calls {
            func ask(_ origin: String) async throws -> TestAnswer {
                try await service.send(
                    .options, Self.mount + path,
                    fields: [
                        Field("origin", origin),
                        Field("access-control-request-method", method.rawValue),
                        Field(
                            "access-control-request-headers",
                            "authorization,content-type" + Self.headers.replacing(" ", with: "")),
                    ])
            }
            let comment = Comment(rawValue: "\(method.rawValue) \(path)")
            let allowed = try await ask(Self.origin)
            #expect(allowed.status == 204, comment, sourceLocation: sourceLocation)
            #expect(allowed.bytes.isEmpty, comment, sourceLocation: sourceLocation)
            let methods = allowed.first("access-control-allow-methods") ?? ""
            #expect(
                methods.split(separator: ", ").contains("\(method.rawValue)"), comment,
                sourceLocation: sourceLocation)
            for (name, value) in [
                ("access-control-allow-origin", Self.origin),
                ("access-control-allow-headers", base + Self.headers),
                ("access-control-max-age", "600"),
                (
                    "vary",
                    "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
                ),
            ] {
                #expect(allowed.first(name) == value, comment, sourceLocation: sourceLocation)
            }
            let refused = try await ask("https://evil.example")
            #expect(refused.status == 403, comment, sourceLocation: sourceLocation)
            #expect(refused.first("access-control-allow-origin") == nil, comment)
            #expect(refused.first("vary")?.hasPrefix("Origin, ") == true, comment)
        }
    }
}

/// A page of the origin reads the answer, or of any origin where it is a public document.
func expectReadable(
    _ answer: TestAnswer, at origin: String, _ comment: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let comment = Comment(rawValue: comment)
    let allowed = answer.first("access-control-allow-origin")
    #expect(
        allowed == origin || allowed == "*", comment, sourceLocation: sourceLocation)
    if allowed == origin {
        #expect(
            answer.first("access-control-expose-headers")
                == "x-request-id, x-immich-cid, retry-after, etag, location, link, "
                + "www-authenticate, ratelimit-limit, ratelimit-remaining, ratelimit-reset, "
                + "x-gatehouse-position, idempotent-replayed",
            comment, sourceLocation: sourceLocation)
    }
    #expect(
        answer.first("vary")?.contains("Origin") == true, comment, sourceLocation: sourceLocation)
}

/// The whole of a JSON answer, byte for byte.
func expectAnswer(
    _ answer: TestAnswer, _ text: String, status: Int = 200,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
    #expect(answer.text == text, sourceLocation: sourceLocation)
    #expect(answer.first("content-type") == "application/json", sourceLocation: sourceLocation)
    #expect(answer.first("cache-control") != nil, sourceLocation: sourceLocation)
    #expect(
        answer.first("x-content-type-options") == "nosniff", sourceLocation: sourceLocation)
}

/// `{"error": …}` and nothing else.
func expectOnlyError(
    _ answer: TestAnswer, _ status: Int, _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let error = JSONValue.object([.init("error", .string(text))]).encoded()
    #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
    #expect(
        answer.text == String(decoding: error, as: UTF8.self), sourceLocation: sourceLocation)
    #expect(answer.first("content-type") == "application/json", sourceLocation: sourceLocation)
    #expect(answer.first("vary")?.contains("Origin") == true, sourceLocation: sourceLocation)
}

/// No body at all.
func expectEmpty(
    _ answer: TestAnswer, _ status: Int, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
    #expect(answer.bytes.isEmpty, sourceLocation: sourceLocation)
    #expect(answer.first("content-type") == nil, sourceLocation: sourceLocation)
}

/// A random UUID (RFC 9562 version 4), as the generated models of some apps insist.
func expectRandomUUID(
    _ value: JSONValue?, sourceLocation: SourceLocation = #_sourceLocation
) {
    let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
    #expect(
        value?.string?.wholeMatch(of: form) != nil, "\(String(describing: value))",
        sourceLocation: sourceLocation)
}

/// A date and time with seconds and `Z` (RFC 3339).
func expectDate(_ value: JSONValue?, sourceLocation: SourceLocation = #_sourceLocation) {
    let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/
    #expect(
        value?.string?.wholeMatch(of: form) != nil, "\(String(describing: value))",
        sourceLocation: sourceLocation)
}
