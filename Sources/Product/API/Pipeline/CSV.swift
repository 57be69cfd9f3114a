import JSON

/// A column: a member of the list's items, or a member of an object in it.
struct CSVColumn: Sendable, Equatable {
    var path: [String]

    var name: String { path.joined(separator: ".") }

    /// The columns of a shape, in its order. A repeated member is one cell, as JSON.
    static func all(of shape: ObjectShape, under path: [String] = []) -> [CSVColumn] {
        shape.fields.flatMap { field in
            let path = path + [field.name]
            if case .object(let inner) = field.kind { return all(of: inner, under: path) }
            return [CSVColumn(path: path)]
        }
    }
}

/// Lines of comma-separated values (RFC 4180).
enum CSV {
    static func header(_ columns: [CSVColumn]) -> [UInt8] {
        line(columns.map { cell(.string($0.name)) })
    }

    static func line(_ item: JSONValue, _ columns: [CSVColumn]) -> [UInt8] {
        line(
            columns.map { column in
                cell(column.path.reduce(item) { $0?[$1] })
            })
    }

    private static func line(_ cells: [[UInt8]]) -> [UInt8] {
        Array(cells.joined(separator: [UInt8(ascii: ",")])) + [0x0D, 0x0A]
    }

    /// An unknown value is empty.
    private static func cell(_ value: JSONValue?) -> [UInt8] {
        switch value {
        case nil, .null: []
        case .string(let text): quoted(guarded(text))
        case .some(let value): quoted(guarded(String(decoding: value.encoded(), as: UTF8.self)))
        }
    }

    /// Spreadsheets evaluate cells that begin with these characters: a name such as
    /// `=HYPERLINK("https://evil.example")` would act for the operator who opens the file (OWASP,
    /// CSV injection; some languages read the full-width signs as the plain ones). If semicolons or
    /// tabs separate cells, a cell begins after those too.
    private static func guarded(_ text: String) -> String {
        var guarded = String.UnicodeScalarView()
        var begins = true
        for scalar in text.unicodeScalars {
            switch scalar {
            case "=", "+", "-", "@", "＝", "＋", "－", "＠":
                if begins { guarded.append("'") }
                begins = false
            case "\t", "\r", "\n":
                if guarded.isEmpty { guarded.append("'") }
                begins = true
            default: begins = scalar == ";"
            }
            guarded.append(scalar)
        }
        return String(guarded)
    }

    private static func quoted(_ text: String) -> [UInt8] {
        let quote = UInt8(ascii: "\"")
        let needsQuotes = text.utf8.contains {
            $0 == quote || $0 == UInt8(ascii: ",") || $0 == 0x0D || $0 == 0x0A
        }
        guard needsQuotes else { return Array(text.utf8) }
        return [quote] + text.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] } + [quote]
    }
}
