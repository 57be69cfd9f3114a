import Synchronization

/// Where the texts of reads name the tables of tenants: the shards' names stand there in the end.
final class ShardTexts: Sendable {
    enum Piece: Equatable, Sendable {
        case text(String)
        case table(String)
    }

    /// Texts that are kept.
    private static let limit = 1024

    private let tables: Set<String>
    private let elsewhere: Set<String>
    private let known = Mutex<[String: [Piece]?]>([:])

    /// `tables`: those with shards. `elsewhere`: tables of the coordinator, and functions that read tables by their
    /// names; Citus finds both.
    init(tables: Set<String>, elsewhere: Set<String>) {
        self.tables = tables
        self.elsewhere = elsewhere
    }

    /// From now on the text has no pieces.
    func decline(_ text: String) { known.withLock { _ = $0.updateValue(nil, forKey: text) } }

    /// The text in its pieces; nil if it names something elsewhere, or no table of tenants.
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

/// Reads the words of a text of SQL as this program writes it: keywords in capitals, names in small letters, no
/// comments. Only a table behind FROM or JOIN can be replaced; one in another place is left to Citus.
private struct SQLReader {
    private let bytes: [UInt8]
    private var pieces: [ShardTexts.Piece] = []
    /// Where the piece begins that is being read.
    private var start = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func pieces(_ tables: Set<String>, _ elsewhere: Set<String>) -> [ShardTexts.Piece]? {
        var at = 0
        // Whether the last word was one before a table, or a comma came last, and only blanks follow it.
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

    /// Columns may be named with their table's name, so it stays as another name of the shard.
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
