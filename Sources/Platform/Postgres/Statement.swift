import Runtime
import Text

typealias Answer = Result<Rows, PostgresError>

/// A statement in progress, with the callback for its answer.
///
/// `@unchecked Sendable`: the caller makes it and then passes it to the pool's loop, which alone
/// uses it.
final class Statement: @unchecked Sendable {
    enum Role {
        /// A read. It may run on any read connection, share a sync with others, and be sent twice.
        case read
        /// A write as its own implicit transaction. It completes when the server has acknowledged
        /// the sync.
        case write
        /// A statement inside an explicit transaction.
        case inTransaction
    }

    let sql: SQL
    let role: Role
    /// The value of `app.tenant` while the statement runs.
    let tenant: UUID?
    /// When the statement began to wait for a connection, in nanoseconds of loop time.
    var began: Int64 = 0
    /// The loop time after which the statement is no longer sent.
    var deadline: Int64 = .max
    /// The loop time by which the request must stop waiting; `deadline` is never later.
    var latest: Int64 = .max
    var retried = false
    /// The first failure of a message sent for this statement, such as its Parse.
    var failure: PostgresError?
    var rows: Rows?
    /// How many warnings the connection had received when the statement was sent.
    var warningsBefore = 0
    /// Whether a warning arrived after this statement was sent and before its answer.
    var isUnconfirmed = false
    /// Where to record the position of the write-ahead log after the commit; `nil` if it is not
    /// needed.
    var position: CommitPosition?
    /// The number of the latest question for the position of the write-ahead log. Each attempt to
    /// send the statement adds a new question.
    var lastQuestion = 0
    var awaitsPosition = false
    private var trace: Trace?
    /// When the statement began, in nanoseconds since 1970; set only if it is traced.
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

    /// Begins a trace span, which ends when the statement completes. Does nothing if `trace` is
    /// `nil`.
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

    /// Completes the statement with the answer that it held until the position of the write-ahead
    /// log arrived.
    func completeHeld() {
        guard let held else { return }
        self.held = nil
        complete(held)
    }

    /// Fails with `failure` if it is set, otherwise with `.unavailable`.
    func abandon(_ cause: String) {
        complete(.failure(failure ?? PostgresError(.unavailable, cause)))
    }
}

/// The prepared statements of one connection, by their text. A name is never used twice, so a
/// statement that was lost to an error cannot be mistaken for another.
struct StatementCache {
    private struct Entry {
        var name: String
        var used: UInt64
        /// The batch in which the statement's Parse was sent; `nil` once the server has confirmed
        /// the Parse.
        var batch: Int?
    }

    enum Found {
        case name(String)
        /// The statement's Parse was sent in an earlier batch, is not confirmed, and may still
        /// fail.
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
        // If the Parse was sent in this batch, the name can be used before the server confirms it:
        // a failed Parse also fails the later statements of the batch, and they are sent again.
        if let sent = entry.batch, sent != batch { return .unconfirmed }
        return .name(entry.name)
    }

    mutating func confirm(_ text: String, name: String) {
        if let index = entries.index(forKey: text), entries.values[index].name == name {
            entries.values[index].batch = nil
        }
    }

    /// Adds a text. Returns its new name, and the name of a statement that must be deallocated to
    /// make room, if any.
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

    /// Removes a text. Does nothing if the text has meanwhile been prepared again under a name
    /// other than `name`.
    mutating func remove(_ text: String, name: String? = nil) {
        if let name, entries[text]?.name != name { return }
        entries[text] = nil
    }
}

/// Describes a statement as a trace span, by OpenTelemetry's conventions for database clients.
extension Statement {
    /// The SQL keywords that precede a table's name.
    private static let beforeTables = ["FROM", "INTO", "UPDATE"]

    func addSpan(to trace: Trace, since start: Int64, _ answer: Answer) {
        let (operation, summary) = Self.summary(of: sql.text)
        var attributes: [(name: StaticString, value: LogValue)] = [
            ("db.system.name", "postgresql"), ("db.operation.name", .text(operation)),
            ("db.query.summary", .text(summary)),
            // The text contains no values, because values are bound.
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

    /// Returns two texts: the first word alone, and the first word with the name of the first
    /// table. Only names outside parentheses count, because within them functions use `FROM` too.
    /// Reads no more of the text than necessary.
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
            // In IS DISTINCT FROM, no table follows `FROM`.
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

    /// Returns the table's name at the start of the word; `nil` if the word is a function, a query
    /// in parentheses or another keyword.
    private static func table(_ word: Substring.UTF8View) -> String? {
        let name = word.prefix {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
        }
        let isCalled = name.endIndex < word.endIndex && word[name.endIndex] == 0x28
        return name.isEmpty || isCalled ? nil : String(decoding: name, as: UTF8.self)
    }
}
