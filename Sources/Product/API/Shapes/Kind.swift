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

    /// `detail` completes the sentence "the field …".
    package init(
        pattern: String? = nil, format: String? = nil, detail: String, example: String? = nil,
        check: @escaping @Sendable (String) -> Bool
    ) {
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

    /// A name that is displayed among others' texts.
    package static let displayName = TextRule(
        detail: "must have no control characters and none that turn the direction of text"
    ) { DisplayText.isPlain($0) }

    /// An id in the customer's own system; the limit counts bytes, unlike the one on length.
    package static let externalID = TextRule(
        detail: "must be at most 255 bytes, without control characters"
    ) { DisplayText.isPlain($0) && $0.utf8.count <= 255 }

    /// A tenant's slug: not shaped like a UUID, since a path takes either.
    package static let slug = TextRule(
        pattern: "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$",
        detail: "must be 2 to 63 lower-case letters, digits and inner hyphens, and not a UUID",
        example: "acme"
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
