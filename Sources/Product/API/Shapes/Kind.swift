import JSON
import Text

/// The kinds of values a field may hold.
package indirect enum Kind: Sendable {
    /// Lengths in Unicode scalars, as JSON Schema counts.
    case string(min: Int = 0, max: Int = 255, rule: TextRule? = nil)
    case email, uuid, timestamp, bool
    case integer(ClosedRange<Int>)
    case enumeration([String])
    case array(of: Kind, max: Int = 1000)
    case object(ObjectShape)
    /// Any member names, each value of the kind.
    case map(of: Kind)
    /// A customer's own members; the writer merges them and checks the rest.
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

/// A rule on text beyond its length: the check decides, the pattern documents it.
package struct TextRule: Sendable {
    /// ECMA-262, for the JSON Schema.
    package var pattern: String?
    /// JSON Schema's `format`; documents only.
    package var format: String?
    /// A sentence for the error: `must be a slug`.
    package var detail: String
    /// Must pass `check`; nil: made from the field's name.
    package var example: String?
    /// Sees text that has passed the length limits.
    package var check: @Sendable (String) -> Bool
    /// The form in which a text is kept: the ends of names, addresses and ids have nothing invisible.
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

    /// A name, a label or a note, which is displayed among others' texts: one line.
    package static let displayName = TextRule(
        detail:
            "must have no control characters and none that are invisible or turn the direction of text",
        normal: DisplayText.named
    ) { DisplayText.isName($0) }

    /// An id in the customer's own system; the limit counts bytes, unlike the one on length.
    package static let externalID = TextRule(
        detail: "must be at most 255 bytes, without control characters",
        normal: DisplayText.stripped
    ) { DisplayText.hidden(in: $0) == nil && $0.utf8.count <= 255 }

    /// A name that another system gave, typed by hand: a hidden character in it would match no one.
    package static let foreignID = TextRule(
        detail: "must have no control and no invisible characters", normal: DisplayText.stripped
    ) { DisplayText.hidden(in: $0) == nil }

    /// A tenant's slug: not shaped like a UUID, since a path takes either.
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
    /// `detail`, and the hidden character, if there is one.
    package func fault(of text: String) -> String {
        guard let scalar = DisplayText.hidden(in: text) else { return detail }
        return "\(detail) (it has \(DisplayText.name(of: scalar)))"
    }
}

extension Kind {
    /// The form in which a value is kept: a name, an address or an id without what is invisible at its
    /// ends. Of any other value itself.
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
