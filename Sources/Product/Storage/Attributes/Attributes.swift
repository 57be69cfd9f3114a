import JSON
import Text

/// A customer's own facts about a user or a tenant: a JSON object that no rule reads. Kept as text,
/// so that numbers and the order of members stay as they were written.
package struct Attributes: Sendable, Equatable {
    /// One JSON object without white space, in UTF-8.
    package let text: String

    package static let none = Attributes(stored: "{}")

    /// `text`: as `text` of another.
    init(stored text: String) { self.text = text }

    init(_ members: [JSONValue.Member]) {
        text = String(decoding: JSONValue.object(members).encoded(), as: UTF8.self)
    }

    package var isEmpty: Bool { sameBytes(text, "{}") }

    /// In the order of the text.
    package var members: [JSONValue.Member] {
        (try? JSONValue(parsing: Array(text.utf8)))?.members ?? []
    }

    package subscript(name: String) -> JSONValue? { JSONValue.object(members)[name] }

    /// By RFC 7396: a null removes its member, a null for the whole removes all.
    package func merging(_ patch: JSONValue) -> Attributes {
        guard case .object = patch else { return .none }
        return Attributes(Self.merge(patch, into: .object(members)).members ?? [])
    }

    /// The names of the members that differ, in the order of bytes.
    package func changedNames(to other: Attributes) -> [String] {
        let (before, after) = (members, other.members)
        let changed = before.filter { !after.contains($0) } + after.filter { !before.contains($0) }
        return Set(changed.map { Array($0.name.utf8) })
            .sorted { $0.lexicographicallyPrecedes($1) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    package static func == (left: Attributes, right: Attributes) -> Bool {
        sameBytes(left.text, right.text)
    }

    private static func merge(_ patch: JSONValue, into target: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members = target.members ?? []
        for change in changes {
            let at = members.firstIndex { sameBytes($0.name, change.name) }
            switch (change.value, at) {
            case (.null, let at?): members.remove(at: at)
            case (.null, nil): break
            case (let value, let at?): members[at].value = merge(value, into: members[at].value)
            case (let value, nil):
                members.append(.init(change.name, merge(value, into: .null)))
            }
        }
        return .object(members)
    }
}

/// The public and the private attributes of one user or tenant.
package struct AttributePair: Sendable, Equatable {
    /// These go out with verifications and tokens.
    package var `public` = Attributes.none
    /// These stay at the management API.
    package var `private` = Attributes.none

    package init() {}

    init(public text: String, private other: String) {
        `public` = Attributes(stored: text)
        `private` = Attributes(stored: other)
    }

    package var isEmpty: Bool { `public`.isEmpty && `private`.isEmpty }
}

extension AuditChanges {
    /// The names of what changed, without their values.
    mutating func add(_ before: AttributePair, _ after: AttributePair) {
        for (field, names) in [
            ("public_attributes", before.public.changedNames(to: after.public)),
            ("private_attributes", before.private.changedNames(to: after.private)),
        ] where !names.isEmpty {
            add(field, .null, .array(names.map { .string($0) }))
        }
    }
}
