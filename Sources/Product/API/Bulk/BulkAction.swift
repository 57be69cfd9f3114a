import Domain
import Storage
import Text

/// Where a bulk action acts: one transaction, in the name of a principal with the rights of this
/// moment.
struct BulkContext: Sendable {
    let change: Change
    let principal: Principal
    let services: Services
    /// Asks for a recent sign-in of the call, by the subject of the refusal's sentence; a job was
    /// asked when it began.
    var recent: @Sendable (String) throws -> Void = { _ in }

    var tenant: UUID { change.tenant }
    var database: Database { get throws { try services.database } }

    /// 403 unless the principal covers the role that it gives or touches.
    func requireCover(of role: UserRole) throws {
        try principal.requireCover(of: role, in: tenant)
    }

    /// Refuses as the action on one object does.
    func require(_ right: Right, owner: UUID? = nil) throws {
        let permission = Permissions.permits(
            principal, right, in: tenant, target: PermissionTarget(ownerID: owner))
        guard permission == .allowed else {
            throw Problem.forbidden("The right \(right.rawValue) is missing.")
        }
    }
}

/// One action on many objects of a kind: at once for a few, as a job for more.
protocol BulkAction: Sendable {
    /// The right that the action needs, and the one to take it back; nil: it cannot be.
    var right: Right { get }
    var undoRight: Right? { get }
    /// What the objects are: `user`.
    static var target: String { get }
    /// Nil: not one that this version knows.
    init?(_ parameters: JSONParameters)
    var parameters: JSONParameters { get }
    /// The action on one object; a refusal is thrown.
    func act(on id: UUID, row: Int, at place: BulkContext) async throws -> JobResult
    /// Takes it back, or keeps it.
    func undo(_ result: JobResult, at place: BulkContext) async throws -> JobResult
}

extension BulkAction {
    var undoRight: Right? { nil }

    /// For actions that leave no effect to undo.
    func undo(_ result: JobResult, at place: BulkContext) async throws -> JobResult {
        JobResult(row: result.row, .kept, code: "no_undo")
    }
}

/// Jobs of a bulk action; their rows are the objects' ids.
struct BulkJobs<Action: BulkAction>: JobKind {
    let name: String

    func rights(_ job: JobRow) -> [Right] {
        // No role has all rights: an unknown action is permitted to none.
        guard let action = Action(JSONParameters(job.parameters)) else { return Right.allCases }
        if job.isUndoing { return [action.undoRight ?? action.right] }
        return [action.right]
    }

    func step(_ work: JobWork, _ services: Services) async throws -> JobStep {
        let action = try action(of: work.job)
        let place = BulkContext(
            change: work.change, principal: work.principal, services: services)
        let rows = try await work.waiting()
        var results: [JobResult] = []
        for row in rows {
            results.append(
                try await work.row(row.row) {
                    guard let id = row.targetID else { throw StorageFailure.notFound("row") }
                    return try await action.act(on: id, row: row.row, at: place)
                })
        }
        return JobStep(results, isLast: rows.count < work.limit)
    }

    func undo(
        _ row: JobResult, _ work: JobWork, _ services: Services
    ) async throws -> JobResult {
        let place = BulkContext(
            change: work.change, principal: work.principal, services: services)
        return try await action(of: work.job).undo(row, at: place)
    }

    private func action(of job: JobRow) throws -> Action {
        guard let action = Action(JSONParameters(job.parameters)) else {
            throw Problem.internalError
        }
        return action
    }
}
