/// A file of comma-separated values, read strictly by RFC 4180.
package struct CSVFile: Sendable {
    package struct Malformed: Error {}

    package let header: [String]
    package let rows: [[String]]

    package init(_ bytes: [UInt8]) throws {
        var lines: [[String]] = []
        var line: [String] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            line.append(try Self.cell(&rest))
            guard let end = rest.popFirst() else { throw Malformed() }
            if end == UInt8(ascii: ",") { continue }
            guard end == 0x0D, rest.popFirst() == 0x0A else { throw Malformed() }
            lines.append(line)
            line = []
        }
        guard line.isEmpty, let first = lines.first,
            lines.allSatisfy({ $0.count == first.count })
        else { throw Malformed() }
        header = first
        rows = Array(lines.dropFirst())
    }

    /// The cells of a column.
    package subscript(_ name: String) -> [String] {
        guard let at = header.firstIndex(of: name) else { return [] }
        return rows.map { $0[at] }
    }

    /// Reads up to the comma or the line end after the cell.
    private static func cell(_ rest: inout ArraySlice<UInt8>) throws -> String {
        let quote = UInt8(ascii: "\"")
        guard rest.first == quote else {
            let text = rest.prefix { $0 != UInt8(ascii: ",") && $0 != 0x0D && $0 != 0x0A }
            guard !text.contains(quote) else { throw Malformed() }
            rest = rest[text.endIndex...]
            return String(decoding: text, as: UTF8.self)
        }
        rest.removeFirst()
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte != quote {
                text.append(byte)
            } else if rest.first == quote {
                text.append(quote)
                rest.removeFirst()
            } else {
                return String(decoding: text, as: UTF8.self)
            }
        }
        throw Malformed()
    }
}
