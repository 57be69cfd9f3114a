import Text

/// Messages between replicas, as text of at most 8,000 bytes.
enum InvalidationMessage: Equatable {
    /// `change 17 <replica> <id> <id> …`: these objects were changed. Without an id: any may have.
    case change(number: Int64, by: UUID, tags: [CacheTag])
    /// `acknowledged 17 <replica>`: the replica answers nothing from before the change.
    case acknowledged(number: Int64, by: UUID)

    /// A change of more objects than this invalidates the whole cache.
    static let tagLimit = 150

    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count >= 3, let number = Int64(words[1]), let replica = UUID(words[2]) else {
            return nil
        }
        switch words[0] {
        case "change":
            let tags = words[3...].compactMap { UUID($0).map(CacheTag.init) }
            guard tags.count == words.count - 3 else { return nil }
            self = .change(number: number, by: replica, tags: tags)
        case "acknowledged": self = .acknowledged(number: number, by: replica)
        default: return nil
        }
    }

    /// The fields after the number of a change.
    static func suffix(by replica: UUID, _ tags: Set<CacheTag>) -> String {
        let named = tags.count > tagLimit ? [] : tags
        return ([replica] + named.map(\.id)).map(\.description).joined(separator: " ")
    }
}
