import Synchronization

/// Finds the tables of tenants in the texts of reads, so that the shards' names can stand in their
/// place.
final class ShardTexts: Sendable {
    enum Piece: Equatable, Sendable {
        case text(String)
        case table(String)
    }

    /// How many texts are kept.
    private static let limit = 1024

    private let tables: Set<String>
    private let elsewhere: Set<String>
    private let known = Mutex<[String: [Piece]?]>([:])

    /// `tables` are those with shards. `elsewhere` are tables of the coordinator, and functions
    /// that read tables by their names; Citus finds both.
    init(tables: Set<String>, elsewhere: Set<String>) {
        self.tables = tables
        self.elsewhere = elsewhere
    }

    /// From now on the text counts as having no pieces.
    func decline(_ text: String) { known.withLock { _ = $0.updateValue(nil, forKey: text) } }

    /// The text in pieces; `nil` if it names something elsewhere, or no table of tenants.
    func pieces(of text: String) -> [Piece]? {
        known.withLock { known in
            if let pieces = known[text] { return pieces }
            if known.count >= Self.limit { known.removeAll() }
            var reader = SQLReader(text)
            let pieces = reader.pieces(tables, elsewhere)
            known.updateValue(pieces, forKey: text)
            return pieces
        }
    }
}

/// Reads the words of SQL as this program writes it: keywords in capitals, names in lower case, no
/// comments. Only a table after FROM or JOIN can be replaced; a text with one in another place is
/// left to Citus.
private struct SQLReader {
    private let bytes: [UInt8]
    private var pieces: [ShardTexts.Piece] = []
    /// Where the current piece begins.
    private var start = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func pieces(_ tables: Set<String>, _ elsewhere: Set<String>) -> [ShardTexts.Piece]? {
        var at = 0
        // Whether the last thing before the blanks was a word that precedes a table, or a comma.
        var (isBeforeTable, isAfterComma) = (false, false)
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                at = bytes[(at + 1)...].firstIndex(of: byte).map { $0 + 1 } ?? bytes.count
                (isBeforeTable, isAfterComma) = (false, false)
            } else if Self.isInWord(byte) {
                let end = bytes[at...].firstIndex { !Self.isInWord($0) } ?? bytes.count
                let word = String(decoding: bytes[at..<end], as: UTF8.self)
                if elsewhere.contains(word) { return nil }
                if tables.contains(word) {
                    let rest = bytes[end...].drop { Self.isBlank($0) }
                    let isNamed = rest.first.map(Self.isSmall) ?? false
                    if rest.starts(with: "AS (".utf8) || isAfterComma && isNamed { return nil }
                    if isBeforeTable { add(word, isNamed, from: at, to: end) }
                }
                isBeforeTable = word == "FROM" || word == "JOIN"
                isAfterComma = false
                at = end
            } else {
                if !Self.isBlank(byte) {
                    (isBeforeTable, isAfterComma) = (false, byte == UInt8(ascii: ","))
                }
                at += 1
            }
        }
        guard !pieces.isEmpty else { return nil }
        addText(to: bytes.count)
        return pieces
    }

    private mutating func addText(to end: Int) {
        pieces.append(.text(String(decoding: bytes[start..<end], as: UTF8.self)))
        start = end
    }

    /// Columns may be qualified with the table's name, so it is kept as an alias of the shard.
    private mutating func add(_ table: String, _ isNamed: Bool, from first: Int, to end: Int) {
        addText(to: first)
        pieces.append(.table(table))
        start = end
        let rest = bytes[end...].drop { Self.isBlank($0) }
        if !isNamed, !rest.starts(with: "AS ".utf8) { pieces.append(.text(" AS \(table)")) }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A }
    private static func isSmall(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isInWord(_ byte: UInt8) -> Bool {
        isSmall(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == 0x5F
    }
}
