import Domain
import HTTP
import JSON
import Storage
import Text

/// One request for an action on many objects.
struct BulkRequest<Action: BulkAction> {
    private let call: Call
    private let action: Action
    /// Of the job, if there are many.
    private let kind: String

    /// More rows are a job.
    private static var atOnce: Int { 100 }
    /// A dry run looks at so many rows, one transaction for each hundred.
    private static var looked: Int { 1000 }

    init(_ call: Call, _ action: Action, kind: String) {
        self.call = call
        self.action = action
        self.kind = kind
    }

    /// `find`: the ids that a filter leaves, read once: what is counted is acted on.
    func answer(_ find: (ListFilter) async throws -> [UUID]) async throws -> Response {
        try require()
        let ids = try await ids(find)
        if let expected = call.input.optionalInt("expected"), expected != ids.count {
            throw Problem(
                .preconditionFailed, "They are \(ids.count) now, not \(expected).",
                members: [.init("count", .int(ids.count))])
        }
        if call.isDryRun { return try await lookedAt(ids) }
        if ids.count > Self.atOnce {
            try call.requireRecentSignIn(for: "An action on more than \(Self.atOnce)")
            return try await job(ids)
        }
        let results = try await call.making { change in
            try await act(on: ids[...], change)
        }
        return document(results, count: ids.count)
    }

    /// Who has the right over own objects alone gets it row by row.
    private func require() throws {
        let permission = Permissions.permits(
            call.principal.subject, action.right, in: try call.tenant.id,
            target: PermissionTarget(ownerID: call.principal.subject.selfID))
        guard permission == .allowed else {
            throw Problem.forbidden("The right \(action.right.rawValue) is missing.")
        }
    }

    private func ids(_ find: (ListFilter) async throws -> [UUID]) async throws -> [UUID] {
        if let filter = call.input.optionalObject("filter") {
            return try await find(ListFilter(input: filter, pointer: "/filter/"))
        }
        var seen: Set<UUID> = []
        return (call.input.optionalStrings("ids") ?? []).compactMap { UUID($0) }
            .filter { seen.insert($0).inserted }
    }

    /// The rows in their order; they are locked in the order of their ids, so that two requests do
    /// not wait for each other.
    private func act(
        on ids: ArraySlice<UUID>, _ change: Change
    ) async throws -> [(id: UUID, result: JobResult)] {
        let place = BulkContext(
            change: change, principal: call.principal.subject, services: call.services,
            recent: { [call] in if !call.isDryRun { try call.requireRecentSignIn(for: $0) } })
        var results: [UUID: JobResult] = [:]
        for id in ids.sorted(by: { ($0.high, $0.low) < ($1.high, $1.low) }) {
            results[id] = try await change.result(ofRow: 0) {
                try await action.act(on: id, row: 0, at: place)
            }
            // One proof is for the whole call: nothing of it is done before.
            if let code = results[id]?.code, code == Code.stepUpRequired.rawValue {
                throw call.signInAgain("The action on one of them")
            }
        }
        return ids.compactMap { id in results[id].map { (id, $0) } }
    }

    /// Thrown to roll a transaction back.
    private struct DryRun: Error { var results: [(id: UUID, result: JobResult)] }

    private func lookedAt(_ ids: [UUID]) async throws -> Response {
        var results: [(id: UUID, result: JobResult)] = []
        let firsts = stride(from: 0, to: min(ids.count, Self.looked), by: Self.atOnce)
        try await call.takeDryRuns(Array(firsts).count)
        for first in firsts {
            do {
                try await call.scope.change(by: call.actor) { change in
                    let slice = ids[first..<min(first + Self.atOnce, ids.count)]
                    throw DryRun(results: try await act(on: slice, change))
                }
            } catch let end as DryRun {
                results += end.results
            }
        }
        return document(results, count: ids.count)
    }

    private func job(_ ids: [UUID]) async throws -> Response {
        let job = try await call.making { change in
            let job = try await change.createJob(
                kind, action.parameters.value, total: ids.count, by: call.jobMaker)
            try await change.addRows(to: job.id, Action.target, ids)
            return job
        }
        return .accepted(job, call)
    }

    private func document(
        _ results: [(id: UUID, result: JobResult)], count: Int
    ) -> Response {
        let items = results.map { id, result in
            var members: [JSONValue.Member] = [
                .init("id", .uuid(id)), .init("status", .string(result.status.rawValue)),
            ]
            if let code = result.code { members.append(.init("code", .string(code))) }
            if let detail = result.detail { members.append(.init("detail", .string(detail))) }
            if let other = result.conflictingID {
                members.append(.init("conflicting_id", .uuid(other)))
            }
            return JSONValue.object(members)
        }
        return .ok(.object([.init("items", .array(items)), .init("count", .int(count))]))
    }

    static var shape: ObjectShape {
        ObjectShape(
            "BulkResult",
            [
                .readOnly(
                    "items",
                    .array(
                        of: .object(
                            ObjectShape([
                                .readOnly("id", .uuid),
                                .readOnly(
                                    "status", .enumeration(["done", "unchanged", "failed"]),
                                    "What became of it, or would."),
                                .readOnly("code", .string(), always: false, "Why it failed."),
                                .readOnly("detail", .string(), always: false),
                                .readOnly(
                                    "conflicting_id", .uuid, always: false,
                                    "The object in the way, or the user who is left of a merge."),
                            ])), max: looked),
                    "One for each; of a dry run the first \(looked)."),
                .readOnly("count", .integer(0...Int.max), "How many there are."),
            ])
    }
}
