import Domain
import HTTP
import JSON
import Storage
import Text

/// One endpoint as an OpenAPI operation.
extension Endpoint {
    func operation(_ schemas: inout SchemaWriter) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("operationId", .string(id)), .init("tags", .array([.string(tag)])),
            .init("summary", .string(summary)),
        ]
        let texts = [access.sentence ?? "", notes].filter { !$0.isEmpty }
        if !texts.isEmpty {
            members.append(.init("description", .string(texts.joined(separator: "\n\n"))))
        }
        let parameters = parameters(&schemas)
        if !parameters.isEmpty { members.append(.init("parameters", .array(parameters))) }
        if let body = requestBody(&schemas) { members.append(.init("requestBody", body)) }
        members.append(.init("responses", responses(&schemas)))
        let idToken = JSONValue.object([.init("idToken", .array([]))])
        members.append(
            .init("security", .array(takesIDToken ? [idToken] : access.requirements)))
        return .object(members)
    }

    private func parameters(_ schemas: inout SchemaWriter) -> [JSONValue] {
        let names = (try? RoutePattern(path))?.parameterNames ?? []
        var all: [JSONValue] = names.map { name in
            let isID = sameBytes(name, "id") || name.hasSuffix("_id")
            return parameter(
                name, in: "path", required: true, pathText(of: name),
                schemas.schema(isID ? .uuid : .string(min: 1)))
        }
        for item in query {
            all.append(
                parameter(
                    item.name, in: "query", required: item.isRequired, item.summary,
                    schemas.schema(item.kind)))
        }
        if idempotent {
            all.append(
                parameter(
                    "Idempotency-Key", in: "header", required: false,
                    "A new random value. A repetition with the same key and body gets the stored "
                        + "response for 24 hours, even if it is a refusal such as 409. To try again "
                        + "after a change, use a new key.",
                    schemas.schema(.string(min: 1, max: 255, rule: .printable))))
        }
        if mayLag {
            all.append(
                parameter(
                    "X-Gatehouse-Position", in: "header", required: false,
                    "The value of this field in the response to the caller's latest write; `0/0` "
                        + "if the caller has written nothing. Any standby database that has "
                        + "reached this position may answer. Without this field, the answer is "
                        + "never older than the request.",
                    [
                        .init("type", .string("string")),
                        .init("pattern", .string("^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$")),
                        .init("example", .string("16/B374D848")),
                    ]))
        }
        if isConditional {
            all.append(
                parameter(
                    "If-None-Match", in: "header", required: false,
                    "The ETag that the caller has. The response is 304 if it is still current.",
                    [.init("type", .string("string"))]))
        }
        if ifMatch != .ignored {
            all.append(
                parameter(
                    "If-Match", in: "header", required: ifMatch == .required,
                    "The ETag of the version that the change is based on. If the object has "
                        + "another ETag now, the response is 412.",
                    schemas.schema(.string(rule: .entityTag)) + [
                        .init("examples", .array([.string(#""v3""#)]))
                    ]))
        }
        return all
    }

    /// The description of a path parameter. For an id, it is made from the segment before: `The id
    /// of the API key.` for `/v1/api-keys/{id}`.
    private func pathText(of name: String) -> String {
        switch name {
        case "tenant": return "The tenant's id or slug."
        case "client": return "The name of the client, for example `immich`."
        case "hash": return "The SHA-256 hash in the `logo_url` of the tenant, in hexadecimal."
        case "name":
            return "`pre-signup` or `post-confirmation`, or an ARN that ends with `:` and one of "
                + "them."
        default: break
        }
        let segments = path.split(separator: "/")
        guard let at = segments.firstIndex(of: "{\(name)}"), at > 0 else { return "" }
        let capitals = ["api": "API", "cors": "CORS"]
        let words = segments[at - 1].split(separator: "-").map(String.init)
        let noun = words.map { capitals[$0] ?? $0 }.joined(separator: " ")
        return noun.hasSuffix("ies")
            ? "The id of the \(noun.dropLast(3))y." : "The id of the \(noun.dropLast())."
    }

    private func parameter(
        _ name: String, in location: String, required: Bool, _ summary: String,
        _ schema: [JSONValue.Member]
    ) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("name", .string(name)), .init("in", .string(location)),
            .init("required", .bool(required)),
        ]
        if !summary.isEmpty { members.append(.init("description", .string(summary))) }
        // A list is a single parameter with comma-separated items.
        if location == "query", schema.contains(where: { $0.value == .string("array") }) {
            members.append(.init("explode", .bool(false)))
        }
        members.append(.init("schema", .object(schema)))
        return .object(members)
    }

    private func requestBody(_ schemas: inout SchemaWriter) -> JSONValue? {
        switch body {
        case .none: return nil
        case .json(let shape):
            let media = JSONValue.object([
                .init("schema", schemas.reference(shape)),
                .init("example", shape.example(input: true)),
            ])
            let isRequired = shape.fields.contains { $0.isRequired && !$0.isReadOnly }
            return .object([
                .init("required", .bool(isRequired || method == .put)),
                .init("content", .object([.init("application/json", media)])),
            ])
        case .raw(let media), .stream(let media):
            let content = media.map { $0.content(&schemas) }
            return .object([.init("required", .bool(true)), .init("content", .object(content))])
        }
    }

    private func responses(_ schemas: inout SchemaWriter) -> JSONValue {
        let codes = Array(Set(problems + impliedProblems)).sorted { $0.rawValue < $1.rawValue }
        var members = answers.map { answer in
            guard case .problem(let more) = answer.content else {
                return JSONValue.Member(
                    String(answer.status),
                    answer.response(
                        &schemas, isExported: listedShape != nil,
                        headers(of: answer.status, answer)))
            }
            let others = codes.filter { $0.status == answer.status && !more.contains($0) }
            return JSONValue.Member(String(answer.status), problem(answer.status, more + others))
        }
        for status in Set(codes.map(\.status)).sorted()
        where !answers.contains(where: { $0.status == status }) {
            let these = codes.filter { $0.status == status }
            members.append(.init(String(status), problem(status, these)))
        }
        if isConditional {
            members.append(
                .init(
                    "304",
                    .object([
                        .init(
                            "description",
                            .string(
                                "The object still has the ETag of `If-None-Match`.")),
                        ResponseHeader.references(headers(of: 304)),
                    ]))
            )
        }
        members.append(
            .init("414", problem(414, [.invalidRequest], "The request line is too long")))
        members.append(
            .init("431", problem(431, [.invalidRequest], "The request's headers are too large")))
        return .object(members)
    }

    /// The codes of the problems that the dispatcher itself can return for this endpoint.
    private var impliedProblems: [Code] {
        var codes: [Code] = [
            .invalidRequest, .originNotAllowed, .validationFailed, .internalError, .unavailable,
        ]
        if access != .open {
            codes += [
                .unauthorized, .forbidden, .rateLimited, .reason(.tenantSuspended),
                .reason(.userSuspended), .stepUpRequired, .secondFactorRequired,
            ]
        }
        if path.utf8.contains(UInt8(ascii: "{")) { codes.append(.notFound) }
        if method != .get { codes += [.payloadTooLarge, .unsupportedMediaType] }
        if method != .get { codes.append(.commitUnknown) }
        if idempotent {
            codes += [.conflict, .requestInProgress, .idempotencyMismatch, .idempotencyQuota]
        }
        if ifMatch != .ignored { codes.append(.preconditionFailed) }
        if ifMatch == .required { codes.append(.preconditionRequired) }
        return codes
    }

    /// The response for problems with these codes. All responses refer to one schema: if each
    /// operation and status had its own, a generated client would have thousands of classes. The
    /// codes are in the description and in `x-codes`.
    private func problem(_ status: Int, _ codes: [Code], _ summary: String? = nil) -> JSONValue {
        let names = codes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        return .object([
            .init("description", .string(summary.map { "\($0): \(names)" } ?? names)),
            ResponseHeader.references(headers(of: status)),
            .init(
                "content",
                .object([
                    .init(
                        "application/problem+json",
                        .object([
                            .init(
                                "schema",
                                .object([
                                    .init("$ref", .string("#/components/schemas/Problem"))
                                ]))
                        ]))
                ])),
            .init("x-codes", .array(codes.map { .string($0.rawValue) })),
        ])
    }
}

extension Media {
    fileprivate func content(_ schemas: inout SchemaWriter) -> JSONValue.Member {
        JSONValue.Member(documentedType, .object([.init("schema", schema(&schemas))]))
    }
}

extension Answer {
    private func example(of shape: ObjectShape) -> JSONValue {
        let usual = shape.example(input: false).members ?? []
        let changed = usual.compactMap { member -> JSONValue.Member? in
            guard let other = shown[member.name] else { return member }
            return other.map { JSONValue.Member(member.name, $0) }
        }
        let more = shown.filter { name, _ in !usual.contains { $0.name == name } }
        return .object(
            changed
                + more.sorted { $0.key < $1.key }.compactMap { name, value in
                    value.map { JSONValue.Member(name, $0) }
                })
    }

    func response(
        _ schemas: inout SchemaWriter, isExported: Bool, _ headers: [ResponseHeader]
    ) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("description", .string(summary.isEmpty ? Self.success(status) : summary)),
            ResponseHeader.references(headers),
        ]
        switch content {
        case .none, .problem: break
        case .other(let media):
            let content = schemas.answer { schemas in media.map { $0.content(&schemas) } }
            members.append(.init("content", .object(content)))
        case .object(let shape):
            let media = JSONValue.object([
                .init("schema", schemas.answer { $0.reference(shape) }),
                .init("example", example(of: shape)),
            ])
            members.append(.init("content", .object([.init("application/json", media)])))
        case .list(let shape, let hasHistogram):
            let page = ObjectShape.page(of: shape, hasHistogram: hasHistogram)
            let media = JSONValue.object([
                .init("schema", schemas.answer { $0.reference(page) }),
                .init("example", page.example(input: false)),
            ])
            var content = [JSONValue.Member("application/json", media)]
            if isExported { content += Self.files(of: shape) }
            members.append(.init("content", .object(content)))
        }
        return .object(members)
    }

    /// Whether the description says no more than the status.
    static func isUsual(_ description: String) -> Bool {
        [200, 201, 202].contains { success($0) == description }
    }

    /// The default description of a successful response.
    private static func success(_ status: Int) -> String {
        switch status {
        case 200: "Success."
        case 201: "Created."
        case 202: "Accepted; the work continues after this response."
        case 204: "Success, without a body."
        default: "Status \(status)."
        }
    }

    /// The media types of the files that `Accept` can request instead of a page of the list.
    private static func files(of shape: ObjectShape) -> [JSONValue.Member] {
        ExportFormat.allCases.map { format in
            let text =
                switch format {
                case .lines:
                    "The whole list as a file: one \(shape.name ?? "item") as JSON on each line. "
                        + "Send no `limit` and no `cursor`."
                case .csv:
                    "The whole list as a file, with the columns "
                        + CSVColumn.all(of: shape).map { "`\($0.name)`" }.joined(separator: ", ")
                        + ". Send no `limit` and no `cursor`."
                }
            let schema = JSONValue.object([
                .init("type", .string("string")), .init("description", .string(text)),
            ])
            return JSONValue.Member(format.mediaType, .object([.init("schema", schema)]))
        }
    }
}

/// The access that an endpoint requires, as a sentence for the documentation. The sentence names
/// API key scopes.
extension Access {
    var sentence: String? {
        switch self {
        case .open: nil
        case .principal: "Accepts any valid credential."
        case .console: "Needs an operator's session of the console."
        case .right(let right): "Needs \(Self.scope(right))."
        case .own(let right):
            "Needs \(Self.scope(right)). A user's access token needs no scope: the user's role "
                + "decides whether it reaches all objects or only the user's own."
        case .anyOf(let rights):
            Self.sentence(Self.distinct(rights.map(Self.scope)))
        case .platform(let right):
            "Needs \(Self.scope(right)). The operator or API key must belong to the platform, not "
                + "to a tenant."
        }
    }

    private static func sentence(_ scopes: [String]) -> String {
        let end = scopes.count > 1 ? ", depending on the request" : ""
        return "Needs \(scopes.joined(separator: " or "))\(end)."
    }

    /// OpenAPI's security requirements: an API key with the scope, or the console's session.
    var requirements: [JSONValue] {
        let alternatives: [[String]]
        switch self {
        case .open: return []
        case .principal: alternatives = [[]]
        case .console: alternatives = []
        case .right(let right), .own(let right), .platform(let right):
            alternatives = [Self.scopes(right)]
        case .anyOf(let rights): alternatives = rights.map(Self.scopes)
        }
        return Self.distinct(alternatives).map { names in
            .object([.init("key", .array(names.map { .string($0) }))])
        } + [.object([.init("session", .array([]))])]
    }

    private static func scopes(_ right: Right) -> [String] {
        right.scope.map { [$0.rawValue] } ?? []
    }

    private static func scope(_ right: Right) -> String {
        scopes(right).first.map { "the scope `\($0)`" }
            ?? "a person's credential; keys are not permitted"
    }

    private static func distinct<Item: Equatable>(_ items: [Item]) -> [Item] {
        items.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension ManagementScope {
    /// A description of what the scope permits.
    var summary: String {
        isAdminEquivalent
            ? "\(what) A key with this scope can obtain the rights of an admin." : what
    }

    private var what: String {
        let parts = rawValue.split(separator: ":")
        guard parts.count == 2, let verb = Self.verbs[String(parts[1])] else { return "" }
        switch self {
        case .hooksSignup: return "Call the sign-up hooks."
        case .keysVerify: return "Verify and introspect keys."
        case .mailBounces: return "Report bounced mail, with a key of the platform."
        default:
            return "\(verb) \(Self.nouns[String(parts[0])] ?? String(parts[0]))."
        }
    }

    private static let verbs = [
        "read": "Read", "write": "Create and change", "signup": "Ask", "verify": "Verify",
        "bounces": "Hand in",
    ]
    private static let nouns = [
        "api-keys": "API keys", "cors": "browser origins", "policy": "the policy and domains",
        "users": "users, with their identities, sessions and decisions",
        "audit": "the audit log", "providers": "identity providers",
        "clients": "the settings of apps",
    ]

    /// All scopes as lines of Markdown.
    static let list = allCases.map { "- `\($0.rawValue)`: \($0.summary)" }
        .joined(separator: "\n")
}

extension ObjectShape {
    /// The shape of a page of a list: the object that contains the items.
    static func page(of item: ObjectShape, hasHistogram: Bool = false) -> ObjectShape {
        ObjectShape(
            item.name.map { $0 + "List" },
            [
                .required(
                    "items", .array(of: .object(item), max: 200),
                    "The part of the list that this page has."),
                FieldShape(
                    "next_cursor", .string(max: 1024), required: true, nullable: true,
                    "The value of `cursor` for the next page; `null` on the last page."),
                .required(
                    "total",
                    .object(
                        ObjectShape([
                            .required(
                                "value", .integer(0...Int.max),
                                "The number of items that were counted."),
                            .required(
                                "exact", .bool,
                                "Whether `value` is exact. If false, counting stopped early, and "
                                    + "there are at least this many items."),
                        ])),
                    "The number of items on all pages together."),
            ]
                + (hasHistogram
                    ? [
                        .optional(
                            "histogram", .object(ListHistogram.shape),
                            "How many of the matching items are in each part of the period; "
                                + "present only if the request asks for it.")
                    ] : []))
    }

    static let problem = ObjectShape(
        [
            .required(
                "type", .string(),
                "The kind of problem: the path of its explanation on this server (RFC 9457)."),
            .required(
                "title", .string(),
                "A short name for the kind of problem, for people. Programs use `code`."),
            .required("status", .integer(400...599), "The HTTP status."),
            .required(
                "detail", .string(max: 4096),
                "What is wrong with this request, for people to read."),
            .required(
                "code", .enumeration(of: Code.self), "A stable code for programs to branch on."),
            .optional(
                "request_id", .string(),
                "The id of the request, as in the header field `X-Request-Id`; absent in the "
                    + "responses of hooks. In a stored response (`Idempotent-Replayed: true`), it "
                    + "is the id of the first request."),
            .required("error", .string(max: 4096), "The same text as `detail`."),
            .optional(
                "errors",
                .array(
                    of: .object(
                        ObjectShape([
                            .required(
                                "pointer", .string(max: 1024),
                                "A JSON pointer into the body, or `?name` for a query parameter."),
                            .required(
                                "code", .enumeration(of: FieldCode.self),
                                "The kind of error, as a stable code for programs to branch on."),
                            .required(
                                "detail", .string(max: 4096),
                                "What is wrong with the member. The text continues a sentence that "
                                    + "begins with the member's name."),
                        ])), max: Problem.maxErrors),
                "The errors that were found in the input, at most 100; absent if the input is not "
                    + "the problem."),
        ], open: true)
}
