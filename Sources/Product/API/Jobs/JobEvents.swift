import HTTP
import JSON
import Storage
import Synchronization
import Text

extension JobEndpoints {
    /// Progress as it is made, as Server-Sent Events.
    var events: Endpoint {
        Endpoint(
            .get, path + "/{id}/events", id: operation("get", "JobEvents"), tag: "Jobs",
            summary: "The job as often as it changes, until it ends (Server-Sent Events); "
                + "each event's data is the job.",
            access: access, answers: [Answer(200, .other(["text/event-stream"]))],
            problems: [.rateLimited], isStream: true
        ) { call in
            let (scope, job) = try await find(call)
            let events = JobEvents(scope, job, call.services)
            return Response(
                200,
                fields: [
                    Field("content-type", "text/event-stream"),
                    Field("cache-control", "no-store"), Field("x-accel-buffering", "no"),
                ], body: .stream { try await events.next() })
        }
    }
}

/// The events of one stream. The job is read once a second: any replica may run it.
private final class JobEvents: Sendable {
    private struct State {
        var first: JobRow?
        var version = 0
        var silent = 0
        var isOver = false
    }

    private static let interval: Duration = .seconds(1)
    /// Seconds of silence before a comment. It keeps proxies from closing, and shows whether the
    /// client is still there: the stream of one that hung up counts until then.
    private static let heartbeat = 2

    private let scope: TenantScope
    private let id: UUID
    private let services: Services
    private let state: Mutex<State>

    init(_ scope: TenantScope, _ job: JobRow, _ services: Services) {
        self.scope = scope
        self.services = services
        id = job.id
        state = Mutex(State(first: job))
    }

    func next() async throws -> [UInt8]? {
        if state.withLock({ $0.isOver }) { return nil }
        let first = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        if let first { return event(first, start: "retry: 2000\n") }
        await services.pause(Self.interval)
        guard let job = try await scope.job(id) else {
            state.withLock { $0.isOver = true }
            return nil
        }
        let isNew = state.withLock { $0.version != job.version }
        if isNew { return event(job) }
        let isDue = state.withLock { state in
            state.silent += 1
            if state.silent < Self.heartbeat { return false }
            state.silent = 0
            return true
        }
        return isDue ? Array(":\n\n".utf8) : []
    }

    /// The last event is the job's end.
    private func event(_ job: JobRow, start: String = "") -> [UInt8] {
        state.withLock { state in
            state.version = job.version
            state.silent = 0
            state.isOver = !job.status.isLive
        }
        let data = String(
            decoding: job.json(at: scope.database.clock()).encoded(), as: UTF8.self)
        let name = job.status.isLive ? "progress" : "end"
        return Array("\(start)id: \(job.version)\nevent: \(name)\ndata: \(data)\n\n".utf8)
    }
}
