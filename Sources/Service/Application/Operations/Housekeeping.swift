import Networking
import Storage

/// What one process does from time to time for all: removes expired rows (an advisory lock lets one
/// replica do it) and writes the key uses and sign-in times that this process has counted. For itself it
/// returns memory to the system.
struct Housekeeping: Sendable {
    /// Seconds between two writes; a killed process loses at most the uses of these.
    static let writeInterval: Int64 = 10

    let database: Database
    let metrics: ServiceMetrics

    func sweep() async throws {
        // What the start and each burst of requests have freed: between what they leave in the caches it would
        // stay with the process.
        Memory.trim()
        do {
            if try await database.sweep(removed: { metrics.swept($0, $1) }) {
                metrics.sweepEnded(failed: false)
            }
        } catch {
            metrics.sweepEnded(failed: true)
            throw error
        }
    }

    /// Users of before an attribute was indexed.
    func index() async throws { try await database.indexAttributes() }

    /// Writes what was counted, and measures what waits. Throws the first fault that is no outage, after
    /// all else was written.
    func write() async throws {
        let fault = await database.writeCounted()
        // If the count fails, the metric keeps its last value.
        if let mails = try? await database.waitingMail() { metrics.mailWaits(mails) }
        if let fault { throw fault }
    }
}
