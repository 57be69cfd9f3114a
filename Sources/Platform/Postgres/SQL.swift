import Text

/// One SQL statement and its bound values. Interpolated values never become text: each is sent as a
/// parameter (`$1`, `$2` …) in the binary format. The text identifies the prepared statement, so a
/// statement should have few texts: bind what varies.
package struct SQL: ExpressibleByStringInterpolation, Sendable {
    struct Slot: Sendable {
        var type: UInt32
        var offset: Int
        /// -1 for NULL.
        var length: Int
        /// The offset of its `$n` in the text, in UTF-8 bytes.
        var mark: Int
    }

    package private(set) var text: String
    private(set) var slots: [Slot] = []
    private(set) var values: [UInt8] = []

    package init(stringLiteral text: String) { self.text = text }

    /// Literal parts become text, interpolated values become parameters.
    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.sql }

    /// Text that is trusted as SQL; never anything from outside.
    package init(raw text: String) { self.text = text }

    /// Collects text and parameters as the compiler calls it for each part of the literal.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql: SQL

        /// Reserves room; both counts come from the compiler.
        package init(literalCapacity: Int, interpolationCount: Int) {
            sql = SQL(raw: "")
            sql.text.reserveCapacity(literalCapacity + interpolationCount * 3)
            sql.slots.reserveCapacity(interpolationCount)
            sql.values.reserveCapacity(interpolationCount * 24)
        }

        /// Adds a literal part, trusted as SQL.
        package mutating func appendLiteral(_ literal: String) { sql.text.append(literal) }

        /// Binds a value.
        package mutating func appendInterpolation<T: PostgresEncodable>(_ value: T) {
            sql.bind(value)
        }

        // The types that are bound most, without generics.
        /// Binds a `uuid`.
        package mutating func appendInterpolation(_ value: UUID) { sql.bind(value) }
        package mutating func appendInterpolation(_ value: String) { sql.bind(value) }
        package mutating func appendInterpolation(_ value: Timestamp) { sql.bind(value) }

        /// Splices another statement's text and values.
        package mutating func appendInterpolation(_ fragment: SQL) { sql.append(fragment) }

        /// Splices text that is trusted as SQL; never anything from outside.
        package mutating func appendInterpolation(raw text: String) { sql.text.append(text) }
    }

    /// Appends text and values; the fragment's `$1` … are renumbered after this statement's own.
    package mutating func append(_ other: SQL) {
        if other.slots.isEmpty {
            text.append(other.text)
            return
        }
        let shift = text.utf8.count
        let base = values.count
        values.append(contentsOf: other.values)
        if slots.isEmpty {
            text.append(other.text)
            slots = other.slots.map { slot in
                var moved = slot
                moved.offset += base
                moved.mark += shift
                return moved
            }
            return
        }
        // The fragment counts its own values from $1, so its numbers move up by ours.
        let bytes = other.text.utf8
        var at = bytes.startIndex
        for (number, slot) in other.slots.enumerated() {
            let mark = bytes.index(bytes.startIndex, offsetBy: slot.mark)
            text.append(String(other.text[at..<mark]))
            at = bytes.index(mark, offsetBy: 1 + String(number + 1).utf8.count)
            var moved = slot
            moved.offset += base
            moved.mark = text.utf8.count
            slots.append(moved)
            text.append("$\(slots.count)")
        }
        text.append(String(other.text[at...]))
    }

    /// The two statements' texts joined without a separator.
    package static func + (left: SQL, right: SQL) -> SQL {
        var sum = left
        sum.append(right)
        return sum
    }

    package static func += (left: inout SQL, right: SQL) { left.append(right) }

    /// The parts one after another with a trusted separator between, as in `" AND "`.
    package static func joined(_ parts: [SQL], separator: String) -> SQL {
        var sum = SQL(raw: "")
        for (index, part) in parts.enumerated() {
            if index > 0 { sum.text.append(separator) }
            sum.append(part)
        }
        return sum
    }

    /// Binds the next `$n` that the text contains already; do not splice anything after it.
    mutating func bindUnmarked(_ array: BoundArray) {
        let offset = values.count
        array.encode(into: &values)
        slots.append(
            Slot(type: array.arrayType, offset: offset, length: values.count - offset, mark: 0))
    }

    /// The same for a value that is not an array.
    mutating func bindUnmarked<T: PostgresEncodable>(_ value: T) {
        let offset = values.count
        let present = value.encode(into: &values)
        slots.append(
            Slot(
                type: T.postgresType, offset: offset,
                length: present ? values.count - offset : -1, mark: 0))
    }

    @inline(__always)
    private mutating func bind<T: PostgresEncodable>(_ value: T) {
        let offset = values.count
        let present = value.encode(into: &values)
        let mark = text.utf8.count
        slots.append(
            Slot(
                type: T.postgresType, offset: offset,
                length: present ? values.count - offset : -1, mark: mark))
        text.append("$\(slots.count)")
    }
}
