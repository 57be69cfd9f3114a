import Synchronization

/// The shards of all tables with one range of tenants, which lie on one server of a distributed database. PostgreSQL
/// plans a statement that names them as on one server, and keeps the plan; by the tables' names Citus takes part in
/// each run, at several times the cost.
///
/// The server must still have them when it answers: each such statement comes with `guardText` or
/// `guardCondition`, which fail with `division_by_zero` where it has not.
final class TenantShards: Sendable {
    /// Texts that are kept.
    private static let limit = 1024

    /// What the coordinator knows about the tables.
    struct Names: Sendable {
        /// The shards' names by their tables'.
        var shards: [String: String] = [:]
        /// Tables of the coordinator, and functions that read tables by their names: Citus finds both.
        var elsewhere: Set<String> = []
    }

    /// Sets `app.tenant` to `$1` until the transaction ends, if this server has the shard `$2`.
    static let guardText = """
        SELECT set_config('app.tenant', $1, (1 / count(*)) = 1) FROM \(placement("$2"))
        """

    /// True if this server has the shard of `parameter`.
    static func guardCondition(_ parameter: String) -> String {
        "(SELECT 1 / count(*) FROM \(placement(parameter))) = 1"
    }

    // Citus changes these rows where a shard was and where it goes, in the transaction that moves it.
    private static func placement(_ parameter: String) -> String {
        """
        pg_dist_placement WHERE shardid = \(parameter)::bigint
            AND groupid = (SELECT groupid FROM pg_dist_local_group)
        """
    }

    /// Of the table of tenants; the other tables' shards of the range are moved with it.
    let id: Int64
    private let names: Names
    private let texts = Mutex<[String: String?]>([:])

    init(_ id: Int64, _ names: Names) {
        self.id = id
        self.names = names
    }

    /// A read with the shards for the tables; nil if Citus must plan it.
    func statement(_ sql: SQL) -> SQL? { text(sql.text).map { sql.with(text: $0) } }

    /// The text of a read with the shards for the tables; nil if Citus must plan it.
    func text(_ text: String) -> String? {
        texts.withLock { texts in
            if let known = texts[text] { return known }
            if texts.count >= Self.limit { texts.removeAll() }
            var renaming = ShardRenaming(names)
            let renamed = renaming.renamed(text)
            texts.updateValue(renamed, forKey: text)
            return renamed
        }
    }
}

/// Reads the words of a text of SQL as this program writes them: keywords in capitals, names in small letters, no
/// comments, and each table behind FROM or JOIN.
private struct ShardRenaming {
    private let names: TenantShards.Names
    private var bytes: [UInt8] = []
    private var result: [UInt8] = []
    private var isRenamed = false

    init(_ names: TenantShards.Names) { self.names = names }

    mutating func renamed(_ text: String) -> String? {
        bytes = Array(text.utf8)
        result.reserveCapacity(bytes.count + 128)
        var at = 0
        // Whether the last word was one before a table, and only blanks follow it.
        var isBeforeTable = false
        while at < bytes.count {
            let start = at
            let byte = bytes[at]
            if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                at += 1
                while at < bytes.count, bytes[at] != byte { at += 1 }
                at = min(at + 1, bytes.count)
                isBeforeTable = false
                result += bytes[start..<at]
            } else if Self.isInWord(byte) {
                at = end(ofWordAt: at)
                let word = String(decoding: bytes[start..<at], as: UTF8.self)
                if names.elsewhere.contains(word) { return nil }
                if isBeforeTable, let shard = names.shards[word] {
                    add(shard, for: word, endingAt: at)
                } else {
                    result += bytes[start..<at]
                }
                isBeforeTable = word == "FROM" || word == "JOIN"
            } else {
                at += 1
                if !Self.isBlank(byte) { isBeforeTable = false }
                result.append(byte)
            }
        }
        return isRenamed ? String(decoding: result, as: UTF8.self) : nil
    }

    /// Columns may be named with their table's name, so it stays as another name of the shard.
    private mutating func add(_ shard: String, for table: String, endingAt end: Int) {
        isRenamed = true
        result += shard.utf8
        let next = bytes[end...].first { !Self.isBlank($0) } ?? 0
        let rest = bytes[end...].drop { Self.isBlank($0) }
        let isNamed = Self.isSmall(next) || rest.starts(with: "AS ".utf8)
        if !isNamed { result += " AS \(table)".utf8 }
    }

    private func end(ofWordAt start: Int) -> Int {
        bytes[start...].firstIndex { !Self.isInWord($0) } ?? bytes.count
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A }
    private static func isSmall(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isInWord(_ byte: UInt8) -> Bool {
        isSmall(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == 0x5F
    }
}
