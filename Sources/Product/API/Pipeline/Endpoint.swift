import Domain
import HTTP
import JSON
import Storage

/// An API endpoint. The declaration is used to route, check, decode and document its requests.
package struct Endpoint: Sendable {
    /// A function that answers a request after all checks. It throws `Problem`, or a failure of the
    /// storage layer.
    package typealias Handler = @Sendable (Call) async throws -> Response

    /// What the request body must be.
    package enum Body: Sendable {
        /// No body, or `{}`.
        case none
        /// `application/json` of this shape.
        case json(ObjectShape)
        /// One of these media types; the handler reads `call.request.body`.
        case raw([Media])
        /// One of these media types. The handler receives the body in pieces, by `call.pieces`.
        /// gzip is accepted. The method must be POST.
        case stream([Media])
    }

    /// The media types that a body of this kind may have; empty if JSON of a shape is due.
    var media: [Media] {
        switch body {
        case .raw(let media), .stream(let media): media
        case .none, .json: []
        }
    }

    /// How the endpoint treats the `If-Match` field (RFC 9110, section 13.1.1).
    package enum IfMatch: Sendable {
        case ignored
        /// The field is checked if it is present: the handler calls `call.requireMatch(_:)`, which
        /// throws 412.
        case honoured
        /// The field is required; without it, the response is 428.
        case required
    }

    /// The HTTP method. An endpoint for GET also answers HEAD.
    package var method: Method
    /// A pattern with `{name}` parameters, such as `/v1/tenants/{tenant}`.
    package var path: String
    /// The OpenAPI operationId: unique, lowerCamelCase.
    package var id: String
    /// The group in the OpenAPI document.
    var tag: String
    /// One line in the OpenAPI document.
    var summary: String
    /// What else the OpenAPI document says of the endpoint, as Markdown: paragraphs and blocks of
    /// code, with empty lines between them.
    var notes: String
    package var access: Access
    /// The query parameters. Others are refused, unless `isForeign` is set.
    package var query: [QueryParameter]
    package var body: Body
    /// The responses in the OpenAPI document.
    package var answers: [Answer]
    /// The problem codes that this endpoint can have, besides those that every endpoint can have.
    var problems: [Code]
    var idempotent: Bool
    package var ifMatch: IfMatch
    /// Whether the response contains a one-time secret, so that a stored copy must be encrypted.
    var secret: Bool
    /// Whether the endpoint is a hook. Its problem bodies have no request id, so that a retry gets
    /// exactly the same response.
    package var hook: Bool
    /// Whether the endpoint implements another system's contract. Its handler reads the query
    /// itself, and the OpenAPI document omits the query.
    package var isForeign = false
    /// Whether the caller sends a provider's id token as its credential, which the handler checks.
    /// The access is then open.
    var takesIDToken = false
    /// Whether the response is a stream of events, each sent when it occurs. The number of streams
    /// is limited, and the caller is checked again before each piece.
    package var isStream = false
    /// Whether a standby database may answer if the request contains a position. True only for a
    /// GET that returns many rows. Its response must not be the basis of a decision or of a
    /// conditional change, since it may be out of date.
    package var mayLag: Bool
    /// Whether pages of every origin may read the response, without credentials.
    package var isPublicDocument = false
    /// The maximum size of the body in bytes. A larger body gets 413.
    var maxBody: Int
    /// The time limit from the last byte of the request to the first byte of the response. After
    /// it, the response is 503.
    package var time: Duration
    /// Whether only the platform may call the endpoint, and its path contains no tenant.
    var isOutsideTenants: Bool {
        if case .platform = access { !path.hasPrefix("/v1/tenants/{tenant}") } else { false }
    }
    /// The default time limit of an endpoint.
    package static let ordinaryTime: Duration = .seconds(5)
    /// The default time limit of a hook: half of the 5 seconds for which Cognito waits, so that one
    /// retry is possible.
    static let hookTime: Duration = .milliseconds(2500)
    /// Whether the object in the path exists. It is called only before a 403, 415, 422 or 428,
    /// since a 404 takes precedence over these. In all other cases, the handler finds out whether
    /// the object exists.
    var exists: (@Sendable (Call) async throws -> Bool)?
    package typealias Receive = @Sendable (Call) async throws -> ReceivedBody
    /// Stores a body that arrives in pieces, before the idempotency key is checked. The handler
    /// gets the result as `call.received`.
    var receive: Receive?
    /// Answers the request. Runs at most once for each idempotency key.
    var handle: Handler

    /// If `time` is `nil`, the time limit is `hookTime` for a hook, and `ordinaryTime` for every
    /// other endpoint. `maxBody` is in bytes.
    package init(
        _ method: Method, _ path: String, id: String, tag: String, summary: String,
        notes: String = "", access: Access, query: [QueryParameter] = [], body: Body = .none,
        answers: [Answer],
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
        self.notes = notes
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

    /// Runs the handler, with reads at the call's read position.
    func answer(_ call: Call) async throws -> Response {
        guard let position = call.readPosition else { return try await handle(call) }
        return try await ReadPosition.$current.withValue(position) { try await handle(call) }
    }
}

/// A media type of a body, with its schema in the OpenAPI document: the bytes of a file, a text, or
/// an object.
package struct Media: Sendable, ExpressibleByStringLiteral {
    /// The media type, in lower case; `*/*` for all.
    package let type: String
    /// The type that the document names, if all types are accepted.
    let documentedType: String
    let schema: @Sendable (inout SchemaWriter) -> JSONValue

    private init(
        _ type: String, documentedAs name: String? = nil,
        _ schema: @escaping @Sendable (inout SchemaWriter) -> JSONValue
    ) {
        self.type = type
        documentedType = name ?? type
        self.schema = schema
    }

    /// A file, whose bytes have no schema. `text` says what it holds.
    package init(_ type: String, _ text: String = "") {
        self.init(type) { _ in
            var members: [JSONValue.Member] = [
                .init("type", .string("string")), .init("format", .string("binary")),
            ]
            if !text.isEmpty { members.append(.init("description", .string(text))) }
            return .object(members)
        }
    }

    package init(stringLiteral type: String) { self.init(type) }

    /// A file whose type the endpoint finds out itself. Generated clients know no other binary type.
    static let bytes: Media = "application/octet-stream"

    /// A stream of server-sent events. Its schema has no type: some tools hold a schema against the
    /// whole text, and others against each event.
    static let events = Media("text/event-stream") { _ in
        .object([.init("description", .string("Server-sent events."))])
    }

    /// An object: the fields of a form, or JSON under a type of its own.
    package static func object(
        _ type: String, _ shape: ObjectShape, documentedAs name: String? = nil
    ) -> Media {
        Media(type, documentedAs: name) { $0.reference(shape) }
    }

    /// `multipart/form-data` with the part `options`, an object, before the part `file`. `text` says
    /// what the parts hold.
    static func form(options: ObjectShape, _ text: String) -> Media {
        Media("multipart/form-data") { schemas in
            .object([
                .init("type", .string("object")), .init("description", .string(text)),
                .init(
                    "properties",
                    .object([
                        .init("options", schemas.reference(options)),
                        .init(
                            "file",
                            .object([
                                .init("type", .string("string")),
                                .init("format", .string("binary")),
                                .init("description", .string("The file.")),
                            ])),
                    ])), .init("required", .array([.string("file")])),
            ])
        }
    }
}

/// A documented response.
package struct Answer: Sendable {
    /// The content of the body. It determines the media type: JSON, or one of the types of `other`.
    package enum Content: Sendable {
        case none
        case object(ObjectShape)
        /// `{"items", "next_cursor", "total"}` with items of this shape; also `histogram` if
        /// `hasHistogram` is true.
        case list(ObjectShape, hasHistogram: Bool = false)
        case other([Media])
        /// A problem document with one of these codes, whatever their default status is.
        case problem([Code])
    }

    package var status: Int
    /// The documentation of the body. Responses are not checked against it.
    package var content: Content
    /// One sentence in the OpenAPI document; if empty, a default text with the status.
    var summary: String
    /// The header fields that this response has besides those of every response of its kind.
    var headers: [ResponseHeader] = []
    /// The members of the example that differ from the example of the shape; `nil` for those that
    /// it lacks.
    var shown: [String: JSONValue?] = [:]

    /// If `summary` is empty, a default text with the status is used.
    package init(_ status: Int, _ content: Content = .none, summary: String = "") {
        self.status = status
        self.content = content
        self.summary = summary
    }

    package static func ok(_ shape: ObjectShape) -> Answer { Answer(200, .object(shape)) }
    /// The response of `Response.created`.
    package static func created(_ shape: ObjectShape) -> Answer {
        Answer(201, .object(shape)).with(.location)
    }
    /// A 201 response with what has no path of its own, such as a link.
    static func issued(_ shape: ObjectShape) -> Answer { Answer(201, .object(shape)) }
    /// The response of `Response.accepted`.
    static let accepted = Answer(
        202, .object(JobRow.shape), summary: "The job, which has not started yet."
    ).with(.location)
    package static func list(_ shape: ObjectShape, hasHistogram: Bool = false) -> Answer {
        Answer(200, .list(shape, hasHistogram: hasHistogram))
    }
    package static let noContent = Answer(204)

    package func with(_ header: ResponseHeader) -> Answer {
        var copy = self
        copy.headers.append(header)
        return copy
    }

    /// The answer with an example that fits this operation, such as the status that it sets.
    func showing(_ members: [String: JSONValue?]) -> Answer {
        var copy = self
        copy.shown = members
        return copy
    }
}
