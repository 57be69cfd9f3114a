/// A tenant's name in addresses: 2–63 of `a-z 0-9 -`, no hyphen at an end, and never the form of a
/// UUID, so that `{tenant}` in a path is one or the other. ASCII only: string equality is safe.
package struct Slug: Hashable, Sendable, CustomStringConvertible {
    package let value: String

    package init?(_ text: String) {
        guard text.utf8.count >= 2, ASCII.isLabel(text.utf8), UUID(text) == nil else { return nil }
        value = text
    }

    package var description: String { value }
}
