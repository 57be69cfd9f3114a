import Observability

/// The span of a statement, by OpenTelemetry's conventions for database clients.
extension Statement {
    /// PostgreSQL's words before the name of a table.
    private static let beforeTables = ["FROM", "INTO", "UPDATE"]

    func addSpan(to trace: Trace, since start: Int64, _ answer: Answer) {
        // Not with the names of shards: a name of few values.
        let text = sql.written ?? sql.text
        let (operation, summary) = Self.summary(of: text)
        var attributes: [(name: StaticString, value: LogValue)] = [
            ("db.system.name", "postgresql"), ("db.operation.name", .text(operation)),
            ("db.query.summary", .text(summary)),
            // Values are bound, so the text has none.
            ("db.query.text", .text(text)),
        ]
        guard case .failure(let error) = answer else {
            return trace.add(summary, since: start, isFailed: false, attributes)
        }
        if let sqlstate = error.sqlstate {
            attributes.append(("db.response.status_code", .text(sqlstate)))
        }
        attributes.append(("error.type", .text(error.sqlstate ?? "\(error.kind)")))
        trace.add(summary, since: start, isFailed: true, attributes)
    }

    /// The first word, and the same with the first table that is named outside of parentheses: inside,
    /// `FROM` is also a word of functions. Reads bytes, and only as far as that.
    static func summary(of text: String) -> (operation: String, summary: String) {
        var rest = text.utf8[...]
        let first = nextWord(of: &rest)
        let operation = String(decoding: first, as: UTF8.self)
        var depth = 0
        var (word, before) = (first, text.utf8.prefix(0))
        while !word.isEmpty {
            if depth == 0, beforeTables.contains(where: { before.elementsEqual($0.utf8) }),
                let table = table(word)
            {
                return (operation, "\(operation) \(table)")
            }
            for byte in word {
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") { depth -= 1 }
            }
            // IS DISTINCT FROM compares.
            before = before.elementsEqual("DISTINCT".utf8) ? word.prefix(0) : word
            word = nextWord(of: &rest)
        }
        return (operation, operation)
    }

    private static func nextWord(of text: inout Substring.UTF8View) -> Substring.UTF8View {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        text = text.drop(while: isBlank)
        let word = text.prefix { !isBlank($0) }
        text = text[word.endIndex...]
        return word
    }

    /// The name that the word begins with; nil for a function, a query in parentheses, another keyword.
    private static func table(_ word: Substring.UTF8View) -> String? {
        let name = word.prefix {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
        }
        let isCalled = name.endIndex < word.endIndex && word[name.endIndex] == 0x28
        return name.isEmpty || isCalled ? nil : String(decoding: name, as: UTF8.self)
    }
}
