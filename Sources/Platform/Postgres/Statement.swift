import Runtime
import Text

typealias Answer = Result<Rows, PostgresError>

/// A statement in progress, and its completion. Confined to the loop of its pool.
///
/// `@unchecked Sendable`: created by the caller, then handed to that loop and touched only there.
final class Statement: @unchecked Sendable {
    enum Role {
        /// May run on any read connection, share a sync, and be sent twice.
        case read
        /// Its own implicit transaction: completes when the server has acknowledged the sync.
        case write
        /// Inside an explicit transaction.
        case inTransaction
    }

    let sql: SQL
    let role: Role
    /// The value of `app.tenant` while the statement runs.
    let tenant: UUID?
    /// Loop time in nanoseconds when it began to wait for a connection.
    var began: Int64 = 0
    /// Loop time after which it is not sent any more.
    var deadline: Int64 = .max
    /// When the request's waits end; `deadline` is never later.
    var latest: Int64 = .max
    var retried = false
    /// The first failure of a message sent for this statement, such as its Parse.
    var failure: PostgresError?
    var rows: Rows?
    /// How many warnings the connection had counted when this was sent.
    var warningsBefore = 0
    /// Whether the server warned after that and before it answered.
    var isUnconfirmed = false
    /// Where the position after its commit is noted; `nil` if it is not asked for.
    var position: CommitPosition?
    /// Numbers the questions for that position, one for each attempt.
    var lastQuestion = 0
    var awaitsPosition = false
    private var trace: Trace?
    /// Nanoseconds since 1970, if the statement is traced.
    private var start: Int64 = 0
    private var held: Answer?
    private var finish: ((Answer) -> Void)?

    init(
        _ sql: SQL, _ role: Role, in tenant: UUID? = nil,
        finish: @escaping (Answer) -> Void
    ) {
        self.sql = sql
        self.role = role
        self.tenant = tenant
        self.finish = finish
    }

    /// Records a span from now until it completes; none if `trace` is `nil`.
    func follow(_ trace: Trace?) {
        guard let trace else { return }
        self.trace = trace
        start = Span.now
    }

    func complete(_ answer: Answer) {
        if awaitsPosition {
            held = answer
            return
        }
        if let trace {
            self.trace = nil
            addSpan(to: trace, since: start, answer)
        }
        let finish = finish
        self.finish = nil
        finish?(answer)
    }

    /// Completes with the answer that came before the position.
    func completeHeld() {
        guard let held else { return }
        self.held = nil
        complete(held)
    }

    /// Fails with the failure that was found, or else as unavailable.
    func abandon(_ cause: String) {
        complete(.failure(failure ?? PostgresError(.unavailable, cause)))
    }
}

/// The prepared statements of one connection by their text. Names are never used twice, so a
/// statement lost to an error cannot be mistaken for another.
struct StatementCache {
    private struct Entry {
        var name: String
        var used: UInt64
        /// The batch its Parse went with; `nil` once the server confirmed it.
        var batch: Int?
    }

    enum Found {
        case name(String)
        /// Its Parse is in flight in an earlier batch, and may still fail.
        case unconfirmed
    }

    private let limit: Int
    private var entries: [String: Entry] = [:]
    private var clock: UInt64 = 0
    private var counter = 0

    init(limit: Int) { self.limit = max(1, limit) }

    mutating func find(_ text: String, batch: Int) -> Found? {
        clock += 1
        guard let index = entries.index(forKey: text) else { return nil }
        entries.values[index].used = clock
        let entry = entries.values[index]
        // In one batch a failed Parse also fails its users, which are then sent again.
        if let sent = entry.batch, sent != batch { return .unconfirmed }
        return .name(entry.name)
    }

    mutating func confirm(_ text: String, name: String) {
        if let index = entries.index(forKey: text), entries.values[index].name == name {
            entries.values[index].batch = nil
        }
    }

    /// A name for a new text, and the name that must be deallocated to make room, if any.
    mutating func add(_ text: String, batch: Int) -> (name: String, evicted: String?) {
        var evicted: String?
        if entries.count >= limit,
            let oldest = entries.min(by: { $0.value.used < $1.value.used })
        {
            evicted = oldest.value.name
            entries[oldest.key] = nil
        }
        counter += 1
        let name = "s\(counter)"
        entries[text] = Entry(name: name, used: clock, batch: batch)
        return (name, evicted)
    }

    /// Removes a text, unless it was meanwhile prepared under another name.
    mutating func remove(_ text: String, name: String? = nil) {
        if let name, entries[text]?.name != name { return }
        entries[text] = nil
    }
}

/// The span of a statement, by OpenTelemetry's conventions for database clients.
extension Statement {
    /// PostgreSQL's words before the name of a table.
    private static let beforeTables = ["FROM", "INTO", "UPDATE"]

    func addSpan(to trace: Trace, since start: Int64, _ answer: Answer) {
        let (operation, summary) = Self.summary(of: sql.text)
        var attributes: [(name: StaticString, value: LogValue)] = [
            ("db.system.name", "postgresql"), ("db.operation.name", .text(operation)),
            ("db.query.summary", .text(summary)),
            // Values are bound, so the text has none.
            ("db.query.text", .text(sql.text)),
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

    /// The first word; and that word with the first table that is named outside of parentheses
    /// (inside, functions use `FROM` too). Reads bytes, and no further than needed.
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
            // IS DISTINCT FROM is a comparison.
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

    /// The name at the start of the word; `nil` for a function, a query in parentheses, another
    /// keyword.
    private static func table(_ word: Substring.UTF8View) -> String? {
        let name = word.prefix {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
        }
        let isCalled = name.endIndex < word.endIndex && word[name.endIndex] == 0x28
        return name.isEmpty || isCalled ? nil : String(decoding: name, as: UTF8.self)
    }
}
