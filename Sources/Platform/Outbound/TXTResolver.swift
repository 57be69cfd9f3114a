import CResolv
import Text
import Workers

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

    /// Each waits for one look-up at a time.
    package static let threads = 8
    /// Look-ups of all owners that wait for a thread.
    package static let queueLimit = 32
    /// Concurrent look-ups of one owner, and how many more may wait.
    package static let questionsOfOwner = 2
    package static let waitingLimit = 4
    /// Seconds for each of two tries.
    private static let patience: Int32 = 2
    private static let answerLimit = 65_535

    private let workers = WorkerPool(
        threads: TXTResolver.threads, queueLimit: TXTResolver.queueLimit)
    private let owners = FairSlots<UUID?>(waitingLimit: TXTResolver.waitingLimit)
    private let server: Server?

    /// `server` nil: those of `/etc/resolv.conf`.
    package init(server: Server? = nil) { self.server = server }

    /// Each record as one text; empty if the name has none or does not exist. `name` is an A-label
    /// name without a trailing dot. `owner`: the tenant that configured it; nil: the platform.
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
