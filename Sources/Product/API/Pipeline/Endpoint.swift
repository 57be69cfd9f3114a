import Domain
import HTTP

/// One declaration that routes, checks, decodes and documents.
package struct Endpoint: Sendable {
    /// Runs after all checks; throws `Problem` or an error that `Hooks.problem` translates.
    package typealias Handler = @Sendable (Call) async throws -> Response

    /// What the request body must be.
    package enum Body: Sendable {
        /// Nothing, or `{}`.
        case none
        /// `application/json` of this shape.
        case json(ObjectShape)
        /// One of these media types; the handler reads `call.request.body`.
        case raw([String])
        /// The same, but the handler receives it in pieces, by `call.pieces`; gzip is accepted. The
        /// method is POST.
        case stream([String])
    }

    /// How the endpoint treats the `If-Match` field (RFC 9110, section 13.1.1).
    package enum IfMatch: Sendable {
        case ignored
        /// The handler calls `call.requireMatch(_:)`: 412.
        case honoured
        /// Absent is 428.
        case required
    }

    /// HEAD is answered by the GET endpoint.
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
    /// Undeclared parameters are refused unless `isForeign`.
    package var query: [QueryParameter]
    package var body: Body
    /// The responses in the OpenAPI document.
    package var answers: [Answer]
    /// Problem codes beyond those that every endpoint has.
    package var problems: [Code]
    package var idempotent: Bool
    package var ifMatch: IfMatch
    /// The response contains a one-time secret, so a stored copy must be sealed.
    package var secret: Bool
    /// Problem bodies have no request id, so that a retry gets a byte-equal response.
    package var hook: Bool
    /// Another system's contract: the handler reads the query, which our document omits.
    package var isForeign = false
    /// The response goes on while things happen: its streams are counted, and the caller is checked
    /// again before each piece.
    package var isStream = false
    /// A standby of PostgreSQL may answer, if the request brings a position. For a GET of many rows
    /// that decides nothing and that no change is conditional on.
    package var mayLag: Bool
    /// A document for everyone, on any origin's pages, without credentials.
    package var isPublicDocument = false
    /// Bytes; a larger body is 413.
    package var maxBody: Int
    /// From the request's last byte to its response's first; then it is 503.
    package var time: Duration
    /// Only the platform may call it, and its path names no tenant.
    var isOutsideTenants: Bool {
        if case .platform = access { !path.hasPrefix("/v1/tenants/{tenant}") } else { false }
    }
    /// The defaults for an endpoint, and for a hook, whose caller waits 5 seconds and may retry
    /// within them.
    package static let ordinaryTime: Duration = .seconds(5)
    /// Half of the 5 seconds that Cognito waits, so that one retry fits.
    package static let hookTime: Duration = .milliseconds(2500)
    /// Whether the path's object exists, checked only before 403, 415 or 422, since 404 precedes
    /// them. A successful request does not pay for it: the handler finds out itself.
    package var exists: (@Sendable (Call) async throws -> Bool)?
    package typealias Receive = @Sendable (Call) async throws -> ReceivedBody
    /// Reads a body that comes in pieces, before the idempotency key is looked at; its result is
    /// the handler's `call.received`.
    package var receive: Receive?
    /// Answers the request; runs at most once for each idempotency key.
    package var handle: Handler

    /// `time` nil: `hookTime` for a hook, else `ordinaryTime`. `maxBody` is in bytes.
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
}

/// A documented response.
package struct Answer: Sendable {
    /// The media type follows from the case: JSON, or one of `other`'s texts.
    package enum Content: Sendable {
        case none
        case object(ObjectShape)
        /// `{"items", "next_cursor", "total"}` of such objects, and `histogram` where it is offered.
        case list(ObjectShape, hasHistogram: Bool = false)
        case other([String])
        /// Problem documents of these codes, whatever status they have elsewhere.
        case problem([Code])
    }

    package var status: Int
    /// The body's documentation; responses are not checked against it.
    package var content: Content
    /// One sentence in the OpenAPI document; empty: the status's own.
    package var summary: String

    /// `summary` empty: the status's own.
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

/// The access that an endpoint requires.
package enum Access: Sendable, Equatable {
    /// No credential is checked; the endpoint may have its own rules (hooks, sign-in).
    case open
    /// Any authenticated caller.
    case principal
    /// An operator by the console's session.
    case console
    /// A right, in the path's tenant if any.
    case right(Right)
    /// The right, possibly only over own objects: the handler checks the owner.
    case own(Right)
    /// Any of the rights: the handler checks which one the request needs.
    case anyOf([Right])
    /// The right, and only for the platform's operators and keys.
    case platform(Right)
}
