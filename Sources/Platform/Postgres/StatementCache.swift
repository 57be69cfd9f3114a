/// The prepared statements of one connection by their text. Names are never used twice, so a
/// statement lost to an error cannot be mistaken for another.
struct StatementCache {
    private struct Entry {
        var name: String
        var used: UInt64
        /// The batch its Parse went with; nil once the server confirmed it.
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
