import CResolv
import Runtime
import Text

/// Looks up TXT records, with the system's name servers or with a given server.
package final class TXTResolver: Sendable {
    /// A name server to use instead of the name servers in `/etc/resolv.conf`.
    package struct Server: Sendable {
        var address: IPAddress
        var port: UInt16

        package init(address: IPAddress, port: UInt16 = 53) {
            self.address = address
            self.port = port
        }
    }

    /// Why a look-up failed. The raw values appear in the log.
    package enum Failure: String, Error, Sendable {
        /// No name server responded in time, or all name servers failed.
        case unavailable
        /// The response is malformed according to RFC 1035.
        case malformed
        case busy
    }

    /// The number of threads; each performs one look-up at a time.
    static let threads = 8
    /// How many look-ups may wait for a thread, over all owners.
    static let queueLimit = 32
    /// How many look-ups of one owner run at once. `waitingLimit` is how many more look-ups of that
    /// owner may wait.
    package static let questionsOfOwner = 2
    package static let waitingLimit = 4
    /// The timeout of one attempt, in seconds. Each look-up makes two attempts.
    private static let patience: Int32 = 2
    private static let answerLimit = 65_535

    private let workers = WorkerPool(
        threads: TXTResolver.threads, queueLimit: TXTResolver.queueLimit)
    private let owners = FairSlots<UUID?>(waitingLimit: TXTResolver.waitingLimit)
    private let server: Server?

    /// Makes a resolver. If `server` is `nil`, the resolver asks the name servers of
    /// `/etc/resolv.conf`.
    package init(server: Server? = nil) { self.server = server }

    /// Returns the TXT records of a name, each as one text; empty if the name has none or does not
    /// exist. `name` consists of A-labels, without a trailing dot. `owner` is the tenant that
    /// configured the name; `nil` is the platform.
    package func records(of name: String, for owner: UUID?) async throws(Failure) -> [String] {
        let server = server
        guard await owners.enter(owner, limit: Self.questionsOfOwner) else { throw .busy }
        defer { owners.leave(owner) }
        let result = await workers.run { Self.ask(name, server) }
        guard let result else { throw .busy }
        return try result.get()
    }

    private static func ask(_ name: String, _ server: Server?) -> Result<[String], Failure> {
        let address = server?.address.bytes ?? [0, 0, 0, 0]
        guard address.count == 4,
            let state = gh_resolver_open(address, server?.port ?? 0, patience)
        else { return .failure(.unavailable) }
        defer { gh_resolver_close(state) }
        var answer = [UInt8](repeating: 0, count: answerLimit)
        let length = Int(gh_resolver_txt(state, name, &answer, Int32(answerLimit)))
        guard length > 0 else {
            return gh_resolver_says_absent(state) != 0 ? .success([]) : .failure(.unavailable)
        }
        guard let records = TXTAnswer.records(in: answer.prefix(min(length, answerLimit))) else {
            return .failure(.malformed)
        }
        return .success(records)
    }
}

/// Reads the TXT records of a DNS message (RFC 1035 section 4). Every length is checked.
enum TXTAnswer {
    static let recordLimit = 64

    /// Returns the TXT records of a message; `nil` if the message is malformed. The strings of one
    /// record are joined. Records that are not UTF-8 are omitted.
    static func records(in message: ArraySlice<UInt8>) -> [String]? {
        var reader = Reader(bytes: Array(message))
        guard reader.skip(4), let questions = reader.number(), let answers = reader.number(),
            reader.skip(4)
        else { return nil }
        for _ in 0..<questions {
            guard reader.skipName(), reader.skip(4) else { return nil }
        }
        var found: [String] = []
        for _ in 0..<answers {
            guard reader.skipName(), let type = reader.number(), let space = reader.number(),
                reader.skip(4), let length = reader.number(), let data = reader.take(length)
            else { return nil }
            // Skip records of other types, such as the CNAME that leads to the TXT records.
            guard type == 16, space == 1 else { continue }
            guard let text = joined(data) else { return nil }
            if let text = String(validating: text, as: UTF8.self), found.count < recordLimit {
                found.append(text)
            }
        }
        return found
    }

    private static func joined(_ data: ArraySlice<UInt8>) -> [UInt8]? {
        var text: [UInt8] = []
        var rest = data
        while let length = rest.first {
            rest = rest.dropFirst()
            guard rest.count >= Int(length) else { return nil }
            text += rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
        }
        return text
    }

    private struct Reader {
        let bytes: [UInt8]
        var at = 0

        mutating func skip(_ count: Int) -> Bool { take(count) != nil }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard count <= bytes.count - at else { return nil }
            defer { at += count }
            return bytes[at..<at + count]
        }

        mutating func number() -> Int? { take(2).map { $0.reduce(0) { $0 << 8 | Int($1) } } }

        /// Skips a name, which ends with the root label or with a compression pointer. The pointer
        /// is not followed. Returns false if the name is malformed.
        mutating func skipName() -> Bool {
            while let length = take(1)?.first {
                if length == 0 { return true }
                if length & 0xC0 == 0xC0 { return skip(1) }
                guard length & 0xC0 == 0, skip(Int(length)) else { return false }
            }
            return false
        }
    }
}
