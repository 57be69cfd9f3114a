import CResolv
import Runtime
import Text

/// Looks up TXT records with the system's name servers or a given one.
package final class TXTResolver: Sendable {
    /// A name server instead of those of `/etc/resolv.conf`.
    package struct Server: Sendable {
        package var address: IPAddress
        package var port: UInt16

        package init(address: IPAddress, port: UInt16 = 53) {
            self.address = address
            self.port = port
        }
    }

    /// Raw values appear in the log.
    package enum Failure: String, Error, Sendable {
        /// No server responded in time, or all failed.
        case unavailable
        /// The response is malformed by RFC 1035.
        case malformed
        case busy
    }

    /// Each thread waits for one look-up at a time.
    package static let threads = 8
    /// How many look-ups of all owners may wait for a thread.
    package static let queueLimit = 32
    /// Concurrent look-ups of one owner, and how many more may wait.
    package static let questionsOfOwner = 2
    package static let waitingLimit = 4
    /// Seconds for each of two attempts.
    private static let patience: Int32 = 2
    private static let answerLimit = 65_535

    private let workers = WorkerPool(
        threads: TXTResolver.threads, queueLimit: TXTResolver.queueLimit)
    private let owners = FairSlots<UUID?>(waitingLimit: TXTResolver.waitingLimit)
    private let server: Server?

    /// If `server` is `nil`, the name servers of `/etc/resolv.conf` are asked.
    package init(server: Server? = nil) { self.server = server }

    /// Each record as one text; empty if the name has none or does not exist. `name` is an A-label
    /// name without a trailing dot. `owner` is the tenant that configured it; `nil` is the
    /// platform.
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

/// Reads the TXT records out of a DNS message (RFC 1035 section 4), every length checked.
enum TXTAnswer {
    static let recordLimit = 64

    /// `nil` if the message is malformed. The strings of one record are joined; records that are
    /// not UTF-8 are left out.
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
            // A CNAME in the response accompanies the records that it leads to.
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

        /// Labels up to the root, or a pointer, which ends a name; it is not followed.
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
