import Postgres

/// A text inside the database's response, in UTF-8: a value that a list shows unchanged is not
/// copied into a string on its way.
package struct StoredText: Sendable {
    private let row: Row
    private let column: Int

    /// Nil for NULL.
    init?(_ row: Row, _ column: Int) {
        guard row.bytes(column) != nil else { return nil }
        self.init(of: row, column)
    }

    /// Of a column that is never NULL.
    init(of row: Row, _ column: Int) {
        self.row = row
        self.column = column
    }

    /// Lends the bytes.
    package func withUTF8(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        let bytes = row.bytes(column)?.bindMemory(to: UInt8.self)
        withExtendedLifetime(row) { body(bytes ?? UnsafeBufferPointer(start: nil, count: 0)) }
    }

    package var string: String {
        var text = ""
        withUTF8 { text = String(decoding: $0, as: UTF8.self) }
        return text
    }
}
