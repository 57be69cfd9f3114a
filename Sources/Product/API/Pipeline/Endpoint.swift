import Domain
import HTTP
import Storage

/// A declaration that routes, checks, decodes and documents requests.
package struct Endpoint: Sendable {
    /// Runs after all checks. Throws `Problem`, or a failure of the storage layer.
    package typealias Handler = @Sendable (Call) async throws -> Response

    /// What the request body must be.
    package enum Body: Sendable {
        /// No body, or `{}`.
        case none
        /// `application/json` of this shape.
        case json(ObjectShape)
        /// One of these media types; the handler reads `call.request.body`.
        case raw([String])
        /// The same, but the handler receives the body in pieces, by `call.pieces`. gzip is
        /// accepted. The method is POST.
        case stream([String])
    }

    /// How the endpoint treats the `If-Match` field (RFC 9110, section 13.1.1).
    package enum IfMatch: Sendable {
        case ignored
        /// The handler calls `call.requireMatch(_:)`, which throws 412.
        case honoured
        /// A missing field is 428.
        case required
    }

    /// The GET endpoint also answers HEAD.
    package var method: Method
    /// A pattern with `{name}` parameters, such as `/v1/tenants/{tenant}`.
    package var path: String
    /// The OpenAPI operationId: unique, lowerCamelCase.
    package var id: String
    /// The group in the OpenAPI document.
    package var tag: String
    /// One line in the OpenAPI document.
    package var summary: String
    package var access: Access
    /// Undeclared parameters are refused, unless `isForeign` is set.
    package var query: [QueryParameter]
    package var body: Body
    /// The responses in the OpenAPI document.
    package var answers: [Answer]
    /// Problem codes beyond those that every endpoint can have.
    package var problems: [Code]
    package var idempotent: Bool
    package var ifMatch: IfMatch
    /// The response contains a one-time secret, so a stored copy must be encrypted.
    package var secret: Bool
    /// Problem bodies have no request id, so that a retry gets a byte-equal response.
    package var hook: Bool
    /// The endpoint implements another system's contract: the handler reads the query, which the
    /// OpenAPI document omits.
    package var isForeign = false
    /// The response is sent as things happen: its streams are counted, and the caller is checked
    /// again before each piece.
    package var isStream = false
    /// A standby database may answer if the request contains a position. For a GET of many rows
    /// that decides nothing and that no change is conditional on.
    package var mayLag: Bool
    /// A document that pages of every origin may read, without credentials.
    package var isPublicDocument = false
    /// The limit of the body in bytes. A larger body is 413.
    package var maxBody: Int
    /// The time from the request's last byte to its response's first. After it the answer is 503.
    package var time: Duration
    /// Whether only the platform may call the endpoint and its path names no tenant.
    var isOutsideTenants: Bool {
        if case .platform = access { !path.hasPrefix("/v1/tenants/{tenant}") } else { false }
    }
    /// The default for an endpoint. `hookTime` is the default for a hook, whose caller waits 5
    /// seconds and may retry within them.
    package static let ordinaryTime: Duration = .seconds(5)
    /// Half of the 5 seconds that Cognito waits, so that one retry fits.
    package static let hookTime: Duration = .milliseconds(2500)
    /// Whether the path's object exists. It is called only before a 403, 415 or 422, since 404
    /// takes precedence over them. A successful request does not pay for it, because the handler
    /// finds out itself.
    package var exists: (@Sendable (Call) async throws -> Bool)?
    package typealias Receive = @Sendable (Call) async throws -> ReceivedBody
    /// Reads a body that arrives in pieces, before the idempotency key is checked. Its result is
    /// the handler's `call.received`.
    package var receive: Receive?
    /// Answers the request. Runs at most once for each idempotency key.
    package var handle: Handler

    /// If `time` is `nil`, it is `hookTime` for a hook, else `ordinaryTime`. `maxBody` is in bytes.
    package init(
        _ method: Method, _ path: String, id: String, tag: String, summary: String,
        access: Access, query: [QueryParameter] = [], body: Body = .none, answers: [Answer],
        problems: [Code] = [], idempotent: Bool = false, ifMatch: IfMatch = .ignored,
        secret: Bool = false, hook: Bool = false, maxBody: Int = 1 << 20,
        time: Duration? = nil, isStream: Bool = false, mayLag: Bool = false,
        receive: Receive? = nil,
        exists: (@Sendable (Call) async throws -> Bool)? = nil,
        handle: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.tag = tag
        self.summary = summary
        self.access = access
        self.query = query
        self.body = body
        self.answers = answers
        self.problems = problems
        self.idempotent = idempotent
        self.ifMatch = ifMatch
        self.secret = secret
        self.hook = hook
        self.maxBody = maxBody
        self.time = time ?? (hook ? Self.hookTime : Self.ordinaryTime)
        self.isStream = isStream
        self.mayLag = mayLag
        self.receive = receive
        self.exists = exists
        self.handle = handle
    }

    /// Runs the handler with the call's read position.
    func answer(_ call: Call) async throws -> Response {
        guard let position = call.readPosition else { return try await handle(call) }
        return try await ReadPosition.$current.withValue(position) { try await handle(call) }
    }
}

/// A documented response.
package struct Answer: Sendable {
    /// The case determines the media type: JSON, or one of the types of `other`.
    package enum Content: Sendable {
        case none
        case object(ObjectShape)
        /// `{"items", "next_cursor", "total"}` with such objects, and `histogram` where it is
        /// offered.
        case list(ObjectShape, hasHistogram: Bool = false)
        case other([String])
        /// Problem documents with these codes, whatever status they have elsewhere.
        case problem([Code])
    }

    package var status: Int
    /// The documentation of the body. Responses are not checked against it.
    package var content: Content
    /// One sentence in the OpenAPI document; if empty, a default text with the status.
    package var summary: String

    /// If `summary` is empty, a default text with the status is used.
    package init(_ status: Int, _ content: Content = .none, summary: String = "") {
        self.status = status
        self.content = content
        self.summary = summary
    }

    package static func ok(_ shape: ObjectShape) -> Answer { Answer(200, .object(shape)) }
    package static func created(_ shape: ObjectShape) -> Answer { Answer(201, .object(shape)) }
    package static func list(_ shape: ObjectShape, hasHistogram: Bool = false) -> Answer {
        Answer(200, .list(shape, hasHistogram: hasHistogram))
    }
    package static let noContent = Answer(204)
}
