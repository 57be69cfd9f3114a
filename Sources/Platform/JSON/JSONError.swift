/// Why a text is not accepted as JSON, and at which byte.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Offset in bytes from the start of the text.
    package var offset: Int
    /// A plain English phrase without user data.
    package var reason: String

    package init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    package var description: String { "\(reason) at byte \(offset)" }
}

/// Bounds that hold before anything is allocated for a value.
package struct JSONLimits: Sendable {
    /// Nesting of arrays and objects.
    package var depth: Int
    /// Values in the whole document, members' values included.
    package var values: Int
    /// Bytes of one number.
    package var numberLength: Int

    package init(depth: Int = 64, values: Int = 200_000, numberLength: Int = 64) {
        self.depth = depth
        self.values = values
        self.numberLength = numberLength
    }

    package static let standard = JSONLimits()
}
