import Text

/// The connections of one loop with an unfinished TLS handshake, oldest first. Each holds about 34
/// KB before its client has sent a request.
struct Handshakes {
    private struct Entry {
        weak var connection: HTTPConnection?
        let network: String
    }

    private let limit: Int
    private var entries: [Entry] = []

    init(limit: Int) { self.limit = limit }

    /// If too many are unfinished, the oldest of the network that has most are closed: an attacker
    /// with thousands must not push out a slow client elsewhere.
    mutating func begin(_ connection: HTTPConnection) {
        entries.append(
            Entry(
                connection: connection, network: IPAddress.network(of: connection.remoteAddress)))
        guard entries.count > limit else { return }
        entries.removeAll { $0.connection?.isInHandshake != true }
        let excess = entries.count - limit
        // Some more make room at once, so that not each new connection counts all of them.
        if excess > 0 { makeRoom(for: limit / 16 + excess) }
    }

    private mutating func makeRoom(for number: Int) {
        var counts: [String: Int] = [:]
        for entry in entries { counts[entry.network, default: 0] += 1 }
        var closing: [HTTPConnection] = []
        var spared = entries
        for _ in 0..<number {
            guard let most = counts.values.max(),
                let index = spared.firstIndex(where: { counts[$0.network] == most })
            else { break }
            counts[spared[index].network] = most - 1
            if let connection = spared.remove(at: index).connection { closing.append(connection) }
        }
        entries = spared
        for connection in closing { connection.close() }
    }
}
