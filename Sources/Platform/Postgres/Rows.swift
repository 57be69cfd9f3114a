import CPostgres
import Glibc
import Text

/// Owns one libpq result.
///
/// `@unchecked Sendable`: the result is complete before this object is made, and is only read
/// afterwards.
final class ResultHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }

    /// Whether the result is an error after which the server closes the connection.
    var isFatal: Bool {
        guard let severity = PQresultErrorField(pointer, Int32(UInt8(ascii: "V"))) else {
            return false
        }
        return strcmp(severity, "ERROR") != 0
    }
}

/// The answer to a statement: its rows, and how many rows the statement affected.
package struct Rows: RandomAccessCollection, Sendable {
    let result: ResultHandle
    /// The number of rows; 0 for a statement that returns none.
    package let count: Int
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    init(_ result: ResultHandle) {
        self.result = result
        count = Int(PQntuples(result.pointer))
    }

    /// The row at an index. The process stops if `index` is out of range.
    package subscript(index: Int) -> Row {
        precondition(index >= 0 && index < count, "row out of range")
        return Row(result: result, index: Int32(index))
    }

    /// The number of rows inserted, updated, deleted or selected; 0 for other statements.
    package var affected: Int {
        guard let digits = PQcmdTuples(result.pointer) else { return 0 }
        return Int(String(cString: digits)) ?? 0
    }

    /// The server's command tag, such as `COMMIT`.
    var command: String { PQcmdStatus(result.pointer).map { String(cString: $0) } ?? "" }
}

/// One row of an answer. While it exists, the whole result stays in memory.
package struct Row: Sendable {
    let result: ResultHandle
    let index: Int32

    var columnCount: Int { Int(PQnfields(result.pointer)) }

    /// Returns the value of a column, counted from 0. Throws `.decoding` if the column does not
    /// exist, has another type, or is NULL although `T` is not optional.
    package func get<T: PostgresDecodable>(
        _ column: Int, as type: T.Type = T.self
    ) throws(PostgresError) -> T {
        try T.read(column, of: self)
    }

    package func get<T: PostgresDecodable>(
        _ column: Int, as type: T?.Type = T?.self
    ) throws(PostgresError) -> T? {
        try T.readIfAny(column, of: self)
    }

    /// Returns consecutive columns in order, decoded as the types to which the caller assigns them.
    package func columns<each Value: PostgresDecodable>(
        from first: Int = 0
    ) throws(PostgresError) -> (repeat each Value) {
        var column = first - 1
        func next() -> Int {
            column += 1
            return column
        }
        return (repeat try (each Value).read(next(), of: self))
    }

    /// Returns the value of a column by its name, which is compared byte for byte.
    package func get<T: PostgresDecodable>(
        _ column: String, as type: T.Type = T.self
    ) throws(PostgresError) -> T {
        for number in 0..<PQnfields(result.pointer) {
            if let name = PQfname(result.pointer, number), Self.same(name, column) {
                return try get(Int(number), as: type)
            }
        }
        throw PostgresError(.decoding, column)
    }

    /// Returns the bytes of a column, which must exist; `nil` for NULL. The bytes are in the
    /// result's own memory, and are valid only as long as the row exists.
    package func bytes(_ column: Int) -> UnsafeRawBufferPointer? {
        let column = Int32(truncatingIfNeeded: column)
        let count = Int(PQgetlength(result.pointer, index, column))
        if count == 0, PQgetisnull(result.pointer, index, column) == 1 { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result.pointer, index, column), count: count)
    }

    /// Returns the value of a column that must be a `uuid`; `nil` for NULL.
    package func uuid(_ column: Int) -> UUID? {
        bytes(column).flatMap { UUID.decode($0, type: UUID.postgresType) }
    }

    /// Returns the value of a column that must be a `timestamptz`; `nil` for NULL.
    package func timestamp(_ column: Int) -> Timestamp? {
        bytes(column).flatMap { Timestamp.decode($0, type: Timestamp.postgresType) }
    }

    struct Cell {
        /// The value's bytes; `nil` for NULL.
        let bytes: UnsafeRawBufferPointer?
        /// The OID of the column's type.
        let type: UInt32
    }

    @inline(__always)
    func cell(_ column: Int) -> Cell? {
        guard column >= 0, column < columnCount else { return nil }
        let column = Int32(column)
        let type = UInt32(PQftype(result.pointer, column))
        if PQgetisnull(result.pointer, index, column) == 1 { return Cell(bytes: nil, type: type) }
        return Cell(
            bytes: UnsafeRawBufferPointer(
                start: PQgetvalue(result.pointer, index, column),
                count: Int(PQgetlength(result.pointer, index, column))), type: type)
    }

    func undecodable(_ column: Int) -> PostgresError {
        let name = PQfname(result.pointer, Int32(clamping: column)).map { String(cString: $0) }
        return PostgresError(.decoding, name ?? "\(column)")
    }

    private static func same(_ name: UnsafePointer<CChar>, _ text: String) -> Bool {
        var at = name
        for byte in text.utf8 {
            guard UInt8(bitPattern: at.pointee) == byte, byte != 0 else { return false }
            at += 1
        }
        return at.pointee == 0
    }
}

/// The bytes of one column of a row, which are not copied.
///
/// `@unchecked Sendable`: the bytes are in the memory of the result, which this value keeps, and
/// which is complete and only read.
package struct ColumnBytes: @unchecked Sendable {
    private let row: Row
    private let bytes: UnsafeRawBufferPointer

    /// Creates the bytes of a column, which must exist; `nil` for NULL.
    package init?(_ row: Row, _ column: Int) {
        guard let bytes = row.bytes(column) else { return nil }
        self.row = row
        self.bytes = bytes
    }

    /// Calls `body` with the bytes, which are valid only during the call.
    package func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        withExtendedLifetime(row) { body(bytes) }
    }
}

extension PostgresDecodable {
    package static func read(_ column: Int, of row: Row) throws(PostgresError) -> Self {
        guard let cell = row.cell(column), let value = decode(cell.bytes, type: cell.type) else {
            throw row.undecodable(column)
        }
        return value
    }

    package static func readIfAny(_ column: Int, of row: Row) throws(PostgresError) -> Self? {
        guard let cell = row.cell(column) else { throw row.undecodable(column) }
        guard let bytes = cell.bytes else { return nil }
        guard let value = decode(bytes, type: cell.type) else { throw row.undecodable(column) }
        return value
    }
}
