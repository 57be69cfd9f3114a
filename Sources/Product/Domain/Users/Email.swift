import Text

/// A parsed address: `key` is compared, `display` is shown.
package struct Email: Sendable, Hashable {
    /// Plain ASCII: lower-case local part, `@`, the domain's A-label.
    package var key: String
    package var display: String
    package var domain: String

    package init(key: String, display: String, domain: String) {
        self.key = key
        self.display = display
        self.domain = domain
    }

    package static func == (left: Email, right: Email) -> Bool { sameBytes(left.key, right.key) }
    package func hash(into hasher: inout Hasher) { for byte in key.utf8 { hasher.combine(byte) } }
}
