/// The connections of one loop with an unfinished TLS handshake, oldest first. Each holds about 34
/// KB before its client has sent a request.
struct Handshakes {
    private struct Entry {
        weak var connection: HTTPConnection?
    }

    private let limit: Int
    private var entries: [Entry] = []

    init(limit: Int) { self.limit = limit }

    /// If too many are unfinished, the oldest are closed: a handshake takes milliseconds.
    mutating func begin(_ connection: HTTPConnection) {
        entries.append(Entry(connection: connection))
        guard entries.count > limit else { return }
        entries.removeAll { $0.connection?.isInHandshake != true }
        while entries.count > limit { entries.removeFirst().connection?.close() }
    }
}
