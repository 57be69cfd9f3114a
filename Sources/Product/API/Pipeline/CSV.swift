import JSON

/// A column of a CSV file: a member of the list's items, or a member of an object within an item.
struct CSVColumn: Sendable, Equatable {
    var path: [String]

    var name: String { path.joined(separator: ".") }

    /// The columns for a shape, in the order of its fields. A list becomes one cell that contains
    /// JSON.
    static func all(of shape: ObjectShape, under path: [String] = []) -> [CSVColumn] {
        shape.fields.flatMap { field in
            let path = path + [field.name]
            if case .object(let inner) = field.kind { return all(of: inner, under: path) }
            return [CSVColumn(path: path)]
        }
    }
}

/// Writes comma-separated values (RFC 4180).
enum CSV {
    /// The value of an import's parameter `guard`. It makes the import remove the apostrophes that
    /// `guarded` added, even if the file's columns were changed.
    enum Guard: String, CaseIterable { case gatehouse }

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

    /// The text of a cell. A missing value becomes an empty cell.
    private static func cell(_ value: JSONValue?) -> [UInt8] {
        switch value {
        case nil, .null: []
        case .string(let text): quoted(guarded(text))
        case .some(let value): quoted(guarded(String(decoding: value.encoded(), as: UTF8.self)))
        }
    }

    /// The text with an apostrophe, the guard, before each character that would make a spreadsheet
    /// evaluate a cell. A name such as `=HYPERLINK("https://evil.example")` could otherwise act for
    /// the operator who opens the file (OWASP, CSV injection). In some languages, such characters
    /// include full-width signs.
    ///
    /// Some programs also begin a new cell after a semicolon, a tab or a line break, so such
    /// characters get a guard there, too. An apostrophe that looks like a guard also gets a guard,
    /// so that `unguarded` restores every text.
    static func guarded(_ text: String) -> String { walked(text) { $0.append("'") } }

    /// The text without the apostrophes that `guarded` added.
    static func unguarded(_ text: String) -> String { walked(text, atGuard: nil) }

    /// Copies the text. `atGuard` writes a guard before each character that needs one. If it is
    /// `nil`, the text already has guards, and they are removed.
    private static func walked(
        _ text: String, atGuard: ((inout String.UnicodeScalarView) -> Void)?
    ) -> String {
        // Most texts need no change: they begin with a plain character and contain no separator.
        guard let first = text.utf8.first, !isPlain(first) || text.utf8.contains(where: isSeparator)
        else { return text }
        let scalars = Array(text.unicodeScalars)
        var out = String.UnicodeScalarView()
        var begins = true
        var at = 0
        while at < scalars.count {
            if begins {
                let next = at + 1 < scalars.count ? scalars[at + 1] : nil
                let isQuote = scalars[at] == "'"
                let needsGuard =
                    isQuote
                    ? next.map { $0 == "'" || isFormula($0, isFirst: at == 0) } ?? false
                    : isFormula(scalars[at], isFirst: at == 0)
                if needsGuard, let atGuard {
                    atGuard(&out)
                } else if needsGuard, isQuote {
                    at += 1
                }
            }
            out.append(scalars[at])
            begins = separators.contains(scalars[at])
            at += 1
        }
        return String(out)
    }

    /// Whether a spreadsheet may evaluate a cell that begins with this character. A line feed
    /// counts only at the beginning of the whole text, since elsewhere it is usually a line break.
    private static func isFormula(_ scalar: Unicode.Scalar, isFirst: Bool) -> Bool {
        switch scalar {
        case "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}", "\t", "\r": true
        case "\n": isFirst
        default: false
        }
    }

    /// Whether a text that begins with this UTF-8 byte certainly needs no guard at its start.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte < 0x80 && byte > 0x20 && !"=+-@'".utf8.contains(byte)
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == 0x3B || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }

    /// The characters that separate cells in the program that opens the file.
    private static let separators: Set<Unicode.Scalar> = [";", "\t", "\r", "\n"]

    private static func quoted(_ text: String) -> [UInt8] {
        let quote = UInt8(ascii: "\"")
        let needsQuotes = text.utf8.contains {
            $0 == quote || $0 == UInt8(ascii: ",") || $0 == 0x0D || $0 == 0x0A
        }
        guard needsQuotes else { return Array(text.utf8) }
        return [quote] + text.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] } + [quote]
    }
}
