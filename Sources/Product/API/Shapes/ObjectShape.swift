import JSON
import Text

/// A member of an object.
package struct FieldShape: Sendable {
    package var name: String
    /// What a present, non-null value must be.
    package var kind: Kind
    package var isRequired: Bool
    /// `null` is allowed; in a PATCH it clears the value.
    package var isNullable: Bool
    /// Responses contain the member. PUT and PATCH may repeat it unchanged.
    package var isReadOnly: Bool
    /// The description in the OpenAPI document; if empty, the vocabulary's text for the name.
    package var summary: String
    /// An example, which must pass the kind's check; `nil` to generate one.
    package var example: JSONValue?

    package init(
        _ name: String, _ kind: Kind, required: Bool = false, nullable: Bool = false,
        readOnly: Bool = false, _ summary: String = "", example: JSONValue? = nil
    ) {
        self.name = name
        self.kind = kind
        isRequired = required
        isNullable = nullable
        isReadOnly = readOnly
        self.summary = summary
        self.example = example
    }

    /// The field's own description, else the vocabulary's for its name.
    var description: String? { summary.isEmpty ? Vocabulary.description(of: name) : summary }

    package static func required(_ name: String, _ kind: Kind, _ summary: String = "") -> Self {
        Self(name, kind, required: true, summary)
    }

    /// The member may be absent. Null is 422.
    package static func optional(_ name: String, _ kind: Kind, _ summary: String = "") -> Self {
        Self(name, kind, summary)
    }

    /// The member may be absent, and may be `null`, which means that there is no value.
    package static func nullable(_ name: String, _ kind: Kind, _ summary: String = "") -> Self {
        Self(name, kind, nullable: true, summary)
    }

    /// Every response contains the member, unless `always` is false.
    package static func readOnly(
        _ name: String, _ kind: Kind, nullable: Bool = false, always: Bool = true,
        _ summary: String = ""
    ) -> Self {
        Self(name, kind, required: always, nullable: nullable, readOnly: true, summary)
    }
}

/// The shape of a JSON object. It decodes bodies and documents them.
package struct ObjectShape: Sendable {
    /// The component's name in the OpenAPI document; `nil` to write the shape inline.
    package var name: String?
    /// The fields in the order of the documentation. The names are unique.
    package var fields: [FieldShape]
    /// Whether undeclared members are allowed, as in other systems' events.
    package var isOpen: Bool
    /// Shapes that apply instead if the body has the member: `{"invites": […]}` beside a single
    /// invite.
    package var alternatives: [(member: String, shape: ObjectShape)] = []

    /// An unnamed shape, written inline in the document.
    package init(_ fields: [FieldShape] = [], open: Bool = false) {
        self.init(nil, open: open, fields)
    }

    package init(_ name: String?, open: Bool = false, _ fields: [FieldShape]) {
        self.name = name
        self.fields = fields
        isOpen = open
    }

    package static let empty = ObjectShape()

    /// Adds another shape for bodies that have `member`.
    package func or(whenHas member: String, _ shape: ObjectShape) -> ObjectShape {
        var copy = self
        // The name belongs to the plain shape, which may be documented on its own.
        copy.name = nil
        copy.alternatives.append((member, shape))
        return copy
    }

    /// The body of a creation: without read-only members, with these required.
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

    /// The body of a PATCH: every member may be absent.
    package func patching(_ name: String? = nil) -> ObjectShape {
        var copy = self
        copy.name = name
        for index in copy.fields.indices { copy.fields[index].isRequired = false }
        return copy
    }

    /// The same shape with more members, for example a key with its secret.
    package func adding(_ name: String? = nil, _ more: [FieldShape]) -> ObjectShape {
        var copy = self
        copy.name = name
        copy.fields += more
        return copy
    }

    func field(_ name: String) -> FieldShape? { fields.first { sameBytes($0.name, name) } }
}

/// The kinds of values that a field may have.
package indirect enum Kind: Sendable {
    /// The lengths are in Unicode scalars, as JSON Schema counts.
    case string(min: Int = 0, max: Int = 255, rule: TextRule? = nil)
    case email, uuid, timestamp, bool
    case integer(ClosedRange<Int>)
    case enumeration([String])
    case array(of: Kind, max: Int = 1000)
    case object(ObjectShape)
    /// Any member names; each value is of this kind.
    case map(of: Kind)
    /// A customer's own members. The writer merges them and checks the rest.
    case attributes
    case any

    package static func enumeration<Value: RawRepresentable<String> & CaseIterable>(
        of type: Value.Type
    ) -> Kind {
        .enumeration(type.allCases.map(\.rawValue))
    }

    /// An id in the customer's own system.
    package static let externalID = Kind.string(min: 1, max: 255, rule: .externalID)
}

/// A rule on text beyond its length. `check` decides; the pattern only documents the rule.
package struct TextRule: Sendable {
    /// An ECMA-262 pattern, for the JSON Schema.
    package var pattern: String?
    /// JSON Schema's `format`, for the documentation only.
    package var format: String?
    /// The text of the error, for example `must be a slug`.
    package var detail: String
    /// An example, which must pass `check`; `nil` to derive one from the field's name.
    package var example: String?
    /// Gets only text that has passed the length limits.
    package var check: @Sendable (String) -> Bool
    /// The form in which a text is stored: without invisible characters at the ends of names,
    /// addresses and ids.
    package var normal: @Sendable (String) -> String = { $0 }

    /// `detail` completes the sentence "the field …".
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

    /// One line of printable ASCII, as a header field allows.
    package static let printable = TextRule(
        pattern: "^[!-~]([ -~]*[!-~])?$", detail: "must be one line of printable ASCII"
    ) { text in text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// A name, a label or a note, which is displayed among other texts: a single line.
    package static let displayName = TextRule(
        detail:
            "must have no control characters, no invisible characters and none that change the text direction",
        normal: DisplayText.named
    ) { DisplayText.isName($0) }

    /// An id in the customer's own system. The limit counts bytes, unlike the limit on length.
    package static let externalID = TextRule(
        detail: "must be at most 255 bytes, without control characters",
        normal: DisplayText.stripped
    ) { DisplayText.hidden(in: $0) == nil && $0.utf8.count <= 255 }

    /// A name that another system assigned, typed by hand: with a hidden character it would match
    /// no person.
    package static let foreignID = TextRule(
        detail: "must have no control and no invisible characters", normal: DisplayText.stripped
    ) { DisplayText.hidden(in: $0) == nil }

    /// A tenant's slug. It must not look like a UUID, since a path accepts either.
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
    /// `detail` and, if there is one, the hidden character.
    package func fault(of text: String) -> String {
        guard let scalar = DisplayText.hidden(in: text) else { return detail }
        return "\(detail) (it has \(DisplayText.name(of: scalar)))"
    }
}

extension Kind {
    /// The form in which a value is stored: a name, an address or an id without invisible
    /// characters at its ends. Any other value is returned unchanged.
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

/// A parameter of the query. Its value is text; the kind defines the text's form.
package struct QueryParameter: Sendable {
    /// The name in the URL, in snake_case. Repeating the parameter is 422.
    package var name: String
    /// The kind as which the text is parsed.
    package var kind: Kind
    package var isRequired: Bool
    package var summary: String
    /// Whether there is one parameter for each name after the dot: `attributes.<name>` in the
    /// documentation.
    package var isFamily = false

    package init(_ name: String, _ kind: Kind, required: Bool = false, _ summary: String = "") {
        self.name = name
        self.kind = kind
        isRequired = required
        self.summary = summary
    }

    /// Whether a name in the query belongs to this parameter.
    func covers(_ given: String) -> Bool {
        guard isFamily else { return sameBytes(name, given) }
        let start = name.utf8.prefix { $0 != UInt8(ascii: "<") }
        return given.utf8.count > start.count && given.utf8.starts(with: start)
    }

    /// The accepted values of `limit`, the number of items of a page; others are 422.
    static let limits = 1...200
    package static let limit = QueryParameter(
        "limit", .integer(limits), "The number of items of a page; 50 if absent.")
    /// Opaque: base64url with a checksum of the list's path, sort and filters.
    package static let cursor = QueryParameter(
        "cursor", .string(min: 1, max: 1024), "The `next_cursor` of the previous page.")
    package static let search = QueryParameter(
        "q", .string(min: 1, max: 255),
        "A part of the email address or the name, in any case. With fewer than 3 characters, the beginning."
    )
    /// Read by `Call.isDryRun`.
    package static let dryRun = QueryParameter(
        "dry_run", .bool, "Whether to only report what would happen. Nothing is written.")

    /// The parameters of every list. The first of `sorts` is the default; `-` is descending.
    package static func list(sorts: [String], search: Bool = false) -> [QueryParameter] {
        [
            limit, cursor,
            QueryParameter("sort", .enumeration(sorts), "The order; `-` for descending."),
        ]
            + (search ? [.search] : [])
    }
}
