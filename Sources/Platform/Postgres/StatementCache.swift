/// The prepared statements of one connection by their text. Names are never used twice, so a
/// statement lost to an error cannot be mistaken for another.
struct StatementCache {
    private struct Entry {
        var name: String
        var used: UInt64
    }

    private let limit: Int
    private var entries: [String: Entry] = [:]
    private var clock: UInt64 = 0
    private var counter = 0

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    mutating func name(for text: String) -> String? {
        clock += 1
        guard let index = entries.index(forKey: text) else { return nil }
        entries.values[index].used = clock
        return entries.values[index].name
    }

    /// A name for a new text, and the name that must be deallocated to make room, if any.
    mutating func add(_ text: String) -> (name: String, evicted: String?) {
        var evicted: String?
        if entries.count >= limit,
            let oldest = entries.min(by: { $0.value.used < $1.value.used })
        {
            evicted = oldest.value.name
            entries[oldest.key] = nil
        }
        counter += 1
        let name = "s\(counter)"
        entries[text] = Entry(name: name, used: clock)
        return (name, evicted)
    }

    /// Forgets a text, unless it was meanwhile prepared under another name.
    mutating func remove(_ text: String, name: String? = nil) {
        if let name, entries[text]?.name != name { return }
        entries[text] = nil
    }
}
