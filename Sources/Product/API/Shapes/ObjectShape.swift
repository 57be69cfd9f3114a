import JSON
import Text

/// A member of an object.
package struct FieldShape: Sendable {
    package var name: String
    /// What a present, non-null value must be.
    package var kind: Kind
    package var isRequired: Bool
    /// `null` is allowed, in a PATCH to clear the value.
    package var isNullable: Bool
    /// Present in responses; PUT and PATCH may repeat it unchanged.
    package var isReadOnly: Bool
    /// For the OpenAPI document; empty: the common text of the name.
    package var summary: String
    /// Must pass the kind; nil: made up.
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

    /// Its own description, else the common one of its name.
    var description: String? { summary.isEmpty ? Vocabulary.description(of: name) : summary }

    package static func required(_ name: String, _ kind: Kind, _ summary: String = "") -> Self {
        Self(name, kind, required: true, summary)
    }

    /// May be absent; null is 422.
    package static func optional(_ name: String, _ kind: Kind, _ summary: String = "") -> Self {
        Self(name, kind, summary)
    }

    /// May be absent, and may be `null` for none.
    package static func nullable(_ name: String, _ kind: Kind, _ summary: String = "") -> Self {
        Self(name, kind, nullable: true, summary)
    }

    /// Present in every response, unless `always` is false.
    package static func readOnly(
        _ name: String, _ kind: Kind, nullable: Bool = false, always: Bool = true,
        _ summary: String = ""
    ) -> Self {
        Self(name, kind, required: always, nullable: nullable, readOnly: true, summary)
    }
}

/// The shape of a JSON object: decodes bodies and documents them.
package struct ObjectShape: Sendable {
    /// The component's name in the OpenAPI document; nil: written inline.
    package var name: String?
    /// In the order of the documentation; names are unique.
    package var fields: [FieldShape]
    /// Undeclared members are allowed (other systems' events).
    package var isOpen: Bool
    /// Used instead if the body has that member: `{"invites": […]}` beside a single invite.
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

    /// Another shape for bodies that have `member`.
    package func or(whenHas member: String, _ shape: ObjectShape) -> ObjectShape {
        var copy = self
        // Its name is the plain shape's, which may be documented alone.
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

    /// The same with more members: a key with its secret, once.
    package func adding(_ name: String? = nil, _ more: [FieldShape]) -> ObjectShape {
        var copy = self
        copy.name = name
        copy.fields += more
        return copy
    }

    func field(_ name: String) -> FieldShape? { fields.first { sameBytes($0.name, name) } }
}
