import Text

/// One SQL statement and its bound values. An interpolated value never becomes part of the text: it
/// is sent as a parameter (`$1`, `$2` …) in the binary format. Each different text is prepared as a
/// statement of its own, so a statement should have few different texts: bind what varies.
package struct SQL: ExpressibleByStringInterpolation, Sendable {
    struct Slot: Sendable {
        var type: UInt32
        var offset: Int
        /// The length of the value in bytes; -1 for NULL.
        var length: Int
        /// The offset of the value's `$n` in the text, in UTF-8 bytes.
        var mark: Int
    }

    package private(set) var text: String
    private(set) var slots: [Slot] = []
    private(set) var values: [UInt8] = []

    package init(stringLiteral text: String) { self.text = text }

    /// Makes a statement from a literal. Its literal parts become text, and its interpolated values
    /// become parameters.
    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.sql }

    /// Makes a statement from text that is trusted as SQL. Never pass text from outside.
    package init(raw text: String) { self.text = text }

    /// Collects the text and the parameters; the compiler calls it for each part of the literal.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql: SQL

        /// Starts a literal. The compiler passes both counts, to reserve memory.
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

        // Overloads for the types that are bound most, without generics.
        package mutating func appendInterpolation(_ value: UUID) { sql.bind(value) }
        package mutating func appendInterpolation(_ value: String) { sql.bind(value) }
        package mutating func appendInterpolation(_ value: Timestamp) { sql.bind(value) }

        /// Inserts another statement's text and values.
        package mutating func appendInterpolation(_ fragment: SQL) { sql.append(fragment) }

        /// Inserts text that is trusted as SQL. Never pass text from outside.
        package mutating func appendInterpolation(raw text: String) { sql.text.append(text) }
    }

    /// Appends another statement. Its parameters `$1` … are renumbered to follow this statement's
    /// own.
    mutating func append(_ other: SQL) {
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
        // The appended statement numbers its values from $1. To each of its numbers, add the number
        // of values that this statement has already.
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

    /// Returns both statements joined without a separator.
    package static func + (left: SQL, right: SQL) -> SQL {
        var sum = left
        sum.append(right)
        return sum
    }

    package static func += (left: inout SQL, right: SQL) { left.append(right) }

    /// Returns the parts joined by a separator that is trusted as SQL, such as `" AND "`.
    package static func joined(_ parts: [SQL], separator: String) -> SQL {
        var sum = SQL(raw: "")
        for (index, part) in parts.enumerated() {
            if index > 0 { sum.text.append(separator) }
            sum.append(part)
        }
        return sum
    }

    /// Binds a value to the next `$n`, which the text already contains. Do not append another
    /// statement afterwards.
    mutating func bindUnmarked(_ array: BoundArray) {
        let offset = values.count
        array.encode(into: &values)
        slots.append(
            Slot(type: array.arrayType, offset: offset, length: values.count - offset, mark: 0))
    }

    /// Binds a value that is not an array to the next `$n`, which the text already contains.
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
