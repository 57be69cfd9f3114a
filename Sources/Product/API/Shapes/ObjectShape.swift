import JSON
import Text

/// The declaration of a member of an object.
package struct FieldShape: Sendable {
    package var name: String
    /// The kind of a value that is present and not null.
    package var kind: Kind
    package var isRequired: Bool
    /// Whether the value may be `null`. In a PATCH, `null` clears it.
    package var isNullable: Bool
    /// Whether the member is only for responses. PUT and PATCH may repeat it unchanged.
    package var isReadOnly: Bool
    /// The description in the OpenAPI document.
    var summary: String
    /// An example, which must pass the kind's check; `nil` to generate one.
    var example: JSONValue?
    /// For the kind `any`: the JSON types of the value, as the document states them; empty if the
    /// value may have every type.
    var types: [String] = []

    init(
        _ name: String, _ kind: Kind, required: Bool = false, nullable: Bool = false,
        readOnly: Bool = false, _ summary: String, example: JSONValue? = nil
    ) {
        self.name = name
        self.kind = kind
        isRequired = required
        isNullable = nullable
        isReadOnly = readOnly
        self.summary = summary
        self.example = example
    }

    package static func required(_ name: String, _ kind: Kind, _ summary: String) -> Self {
        Self(name, kind, required: true, summary)
    }

    /// A member that may be absent. It must not be null.
    package static func optional(_ name: String, _ kind: Kind, _ summary: String) -> Self {
        Self(name, kind, summary)
    }

    /// A member that may be absent or `null`. Both mean that there is no value.
    package static func nullable(_ name: String, _ kind: Kind, _ summary: String) -> Self {
        Self(name, kind, nullable: true, summary)
    }

    /// A member that only responses contain. Every response has it, unless `always` is false.
    package static func readOnly(
        _ name: String, _ kind: Kind, nullable: Bool = false, always: Bool = true,
        _ summary: String
    ) -> Self {
        Self(name, kind, required: always, nullable: nullable, readOnly: true, summary)
    }

    /// The member with the JSON types of its value, for the document.
    func typed(_ types: String...) -> Self {
        var copy = self
        copy.types = types
        return copy
    }
}

/// The shape of a JSON object. It is used to decode bodies and to document them.
package struct ObjectShape: Sendable {
    /// The component's name in the OpenAPI document, without the alternatives; `nil` to write the
    /// shape inline.
    package var name: String?
    /// The fields in the order of the documentation. No two have the same name.
    package var fields: [FieldShape]
    /// Whether undeclared members are allowed, as in events of other systems.
    package var isOpen: Bool
    /// Whether responses with the object have its `ETag`.
    package var isVersioned: Bool
    /// Alternatives to this shape, each with the name of a member. If the body has that member, the
    /// alternative applies instead of this shape. For example, a body with `invites` is a list of
    /// invites, and one without it is a single invite.
    package var alternatives: [(member: String, shape: ObjectShape)] = []

    /// Creates a shape without a name, which the OpenAPI document repeats wherever it is used.
    package init(_ fields: [FieldShape] = [], open: Bool = false) {
        self.init(nil, open: open, fields)
    }

    package init(
        _ name: String?, open: Bool = false, versioned: Bool = false, _ fields: [FieldShape]
    ) {
        self.name = name
        self.fields = fields
        isOpen = open
        isVersioned = versioned
    }

    package static let empty = ObjectShape()

    /// Returns a shape for two kinds of bodies: `shape` applies to those that have the member, and
    /// the present shape to all others.
    package func or(whenHas member: String, _ shape: ObjectShape) -> ObjectShape {
        var copy = self
        copy.alternatives.append((member, shape))
        return copy
    }

    /// The shape that applies if no alternative does. The name is its own.
    var withoutAlternatives: ObjectShape {
        var copy = self
        copy.alternatives = []
        return copy
    }

    /// The shape for the body of a request that creates an object. It lacks the read-only members.
    /// `required` names the members that must be present.
    package func creating(_ name: String? = nil, required: [String]) -> ObjectShape {
        var copy = self
        copy.name = name
        copy.fields = fields.filter { !$0.isReadOnly }.map { field in
            var field = field
            field.isRequired = required.contains { sameBytes($0, field.name) }
            return field
        }
        return copy
    }

    /// The shape for the body of a PATCH, in which every member may be absent.
    package func patching(_ name: String? = nil) -> ObjectShape {
        var copy = self
        copy.name = name
        for index in copy.fields.indices { copy.fields[index].isRequired = false }
        return copy
    }

    /// The shape with more members. For example, an API key's shape becomes that of a key with its
    /// secret.
    func adding(_ name: String? = nil, _ more: [FieldShape]) -> ObjectShape {
        var copy = self
        copy.name = name
        copy.fields += more
        return copy
    }

    func field(_ name: String) -> FieldShape? { fields.first { sameBytes($0.name, name) } }
}

/// The kind of a field's value.
package indirect enum Kind: Sendable {
    /// A text. The lengths are in Unicode scalars, as in JSON Schema.
    case string(min: Int = 0, max: Int = 255, rule: TextRule? = nil)
    case email, uuid, timestamp, bool
    case integer(ClosedRange<Int>)
    case enumeration([String])
    case array(of: Kind, max: Int = 1000)
    case object(ObjectShape)
    /// An object with any member names. Each value is of this kind.
    case map(of: Kind)
    /// The tenant's own attributes of an object. They are checked when they are merged with the
    /// stored ones.
    case attributes
    case any

    static func enumeration<Value: RawRepresentable<String> & CaseIterable>(
        of type: Value.Type
    ) -> Kind {
        .enumeration(type.allCases.map(\.rawValue))
    }

    /// An id in the customer's own system.
    static let externalID = Kind.string(min: 1, max: 255, rule: .externalID)
}

/// A rule for a text besides its length. `check` decides; the pattern only documents the rule.
package struct TextRule: Sendable {
    /// A regular expression (ECMA-262) for the JSON Schema.
    var pattern: String?
    /// JSON Schema's `format`, for the documentation only.
    var format: String?
    /// The text of the error, for example `must be a slug`.
    var detail: String
    /// An example, which must pass `check`; `nil` to derive one from the field's name.
    var example: String?
    /// Returns whether a text satisfies the rule. It is called only for a text of an allowed
    /// length.
    var check: @Sendable (String) -> Bool
    /// Converts a text to the form in which it is stored. For names, addresses and ids, this
    /// removes invisible characters at the ends.
    var normal: @Sendable (String) -> String = { $0 }

    /// `detail` completes a sentence that begins with the field's name.
    package init(
        pattern: String? = nil, format: String? = nil, detail: String, example: String? = nil,
        normal: @escaping @Sendable (String) -> String = { $0 },
        check: @escaping @Sendable (String) -> Bool
    ) {
        self.normal = normal
        self.pattern = pattern
        self.format = format
        self.detail = detail
        self.example = example
        self.check = check
    }

    /// One line of printable ASCII, as a header field may contain.
    static let printable = TextRule(
        pattern: "^[!-~]([ -~]*[!-~])?$", detail: "must be one line of printable ASCII"
    ) { text in text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// The value of `If-Match`: an entity tag with its quotation marks, or `*` (RFC 9110 section
    /// 13.1.1). The server also takes a list of tags; a tag of any other form never matches.
    static let entityTag = TextRule(
        pattern: #"^(\*|"[!#-~]*")$"#,
        detail: "must be an entity tag with its quotation marks, or `*`", example: #""v3""#
    ) { text in text.hasSuffix("*") || text.hasSuffix("\"") }

    /// A name, a label or a note: a single line, which is displayed next to other texts.
    package static let displayName = TextRule(
        detail:
            "must have no control characters, no invisible characters and none that change the text direction",
        normal: DisplayText.named
    ) { DisplayText.isName($0) }

    /// An id in the customer's own system. Unlike the field's maximum length, this rule's limit is
    /// in bytes.
    static let externalID = TextRule(
        detail: "must be at most 255 bytes, without control or invisible characters",
        normal: DisplayText.stripped
    ) { DisplayText.hidden(in: $0) == nil && $0.utf8.count <= 255 }

    /// A name that another system assigned and that an operator types. If it contained a hidden
    /// character, it would match no person.
    static let foreignID = TextRule(
        detail: "must have no control and no invisible characters", normal: DisplayText.stripped
    ) { DisplayText.hidden(in: $0) == nil }

    /// A tenant's slug. It must not have the form of a UUID, since paths accept both.
    package static let slug = TextRule(
        pattern: "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$",
        detail: "must be 2 to 63 lower-case letters, digits and inner hyphens, and not a UUID",
        example: "acme", normal: DisplayText.stripped
    ) { text in
        let bytes = Array(text.utf8)
        let hyphen = UInt8(ascii: "-")
        let plain = bytes.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == hyphen
        }
        return plain && (2...63).contains(bytes.count) && bytes.first != hyphen
            && bytes.last != hyphen && UUID(text) == nil
    }
}

extension TextRule {
    /// The error for a text: `detail` and, if the text has a hidden character, its name.
    package func fault(of text: String) -> String {
        guard let scalar = DisplayText.hidden(in: text) else { return detail }
        return "\(detail) (it has \(DisplayText.name(of: scalar)))"
    }
}

extension Kind {
    /// The value in the form in which it is stored. Invisible characters are removed from the ends
    /// of names, addresses and ids; any other value is unchanged.
    func normal(_ value: JSONValue) -> JSONValue {
        switch (self, value) {
        case (.string(_, _, let rule?), .string(let text)): .string(rule.normal(text))
        case (.email, .string(let text)): .string(DisplayText.stripped(text))
        case (.array(.string(_, _, nil), _), _), (.array(.any, _), _): value
        case (.array(let item, _), .array(let values)): .array(values.map(item.normal))
        case (.object(let shape), .object(let members)):
            .object(
                members.map { member in
                    guard let field = shape.chosen(for: members).field(member.name) else {
                        return member
                    }
                    return .init(member.name, field.kind.normal(member.value))
                })
        default: value
        }
    }
}

/// A query parameter. Its value is a text, which must have the form of its kind.
package struct QueryParameter: Sendable {
    /// The name in the URL, in snake_case. A repeated parameter is refused with 422.
    package var name: String
    /// The kind of value that the text is parsed as.
    package var kind: Kind
    package var isRequired: Bool
    var summary: String
    /// Whether this declares a family of parameters, with any name after the dot. It is documented
    /// as `attributes.<name>`.
    var isFamily = false

    package init(_ name: String, _ kind: Kind, required: Bool = false, _ summary: String) {
        self.name = name
        self.kind = kind
        isRequired = required
        self.summary = summary
    }

    /// The parameter as a member of the object that the query is parsed into.
    var field: FieldShape { FieldShape(name, kind, summary) }

    /// Whether a name in the query belongs to this parameter.
    func covers(_ given: String) -> Bool {
        guard isFamily else { return sameBytes(name, given) }
        let start = name.utf8.prefix { $0 != UInt8(ascii: "<") }
        return given.utf8.count > start.count && given.utf8.starts(with: start)
    }

    /// The accepted values of `limit`, the number of items of a page. Others are refused with 422.
    static let limits = 1...200
    static let limit = QueryParameter(
        "limit", .integer(limits), "The maximum number of items on a page; 50 if absent.")
    /// The cursor of a page, opaque to clients. It is base64url and has a checksum of the list's
    /// path, sort order and filters.
    static let cursor = QueryParameter(
        "cursor", .string(min: 1, max: 1024), "The `next_cursor` of the previous page.")
    /// The text to search for in a list. `summary` says where the list looks for the words.
    static func search(_ summary: String) -> QueryParameter {
        QueryParameter("q", .string(min: 1, max: 255), summary)
    }

    /// The parameter for a dry run. `Call.isDryRun` reads it.
    static let dryRun = QueryParameter(
        "dry_run", .bool,
        "If true, the server only reports what would happen, and changes nothing.")

    /// The parameters of every list. The first of `sorts` is the default order; a `-` before a name
    /// means descending order. `search` is the description of `q`; nil for a list without it.
    package static func list(sorts: [String], search: String? = nil) -> [QueryParameter] {
        [
            limit, cursor,
            QueryParameter(
                "sort", .enumeration(sorts),
                "The member to sort by. A `-` before the name means descending order."),
        ]
            + (search.map { [QueryParameter.search($0)] } ?? [])
    }
}
