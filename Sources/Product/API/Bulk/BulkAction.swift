import Domain
import JSON
import Storage
import Text

/// The context of a bulk action: one transaction, and the principal with its current rights.
struct BulkContext: Sendable {
    let change: Change
    let principal: Principal
    let application: Application
    /// Throws unless the operator proved presence recently. The argument names the act, and becomes
    /// the subject of the sentence in the error. In a job this does nothing, since presence was
    /// checked when the job was created.
    var recent: @Sendable (String) throws -> Void = { _ in }

    var tenant: UUID { change.tenant }
    var database: Database { application.database }

    /// Throws 403 unless the principal has all rights of the role. The role is the one that the
    /// principal grants, or the role of the user on whom it acts.
    func requireCover(of role: UserRole) throws {
        try principal.requireCover(of: role, in: tenant)
    }

    /// Throws if the principal lacks the right. The errors are those of the endpoint for a single
    /// object.
    func require(_ right: Right, owner: UUID? = nil) throws {
        let permission = Permissions.permits(
            principal, right, in: tenant, target: PermissionTarget(ownerID: owner))
        guard permission == .allowed else {
            throw Problem.missing(right, permission)
        }
    }
}

/// An action on many objects of one kind. A few objects are handled in the request; more become a
/// job.
protocol BulkAction: Sendable {
    /// The right that the action needs. `undoRight` is the right that undoing it needs; `nil` if it
    /// cannot be undone.
    var right: Right { get }
    var undoRight: Right? { get }
    /// The type of the objects, for example `user`.
    static var target: String { get }
    /// `nil` if this version does not know the action.
    init?(_ parameters: JSONParameters)
    var parameters: JSONParameters { get }
    /// Acts on one object, and throws if the action is refused.
    func act(on id: UUID, row: Int, at place: BulkContext) async throws -> JobResult
    /// Undoes the action on one object. An object that has changed since the action stays as it is.
    func undo(_ result: JobResult, at place: BulkContext) async throws -> JobResult
}

extension BulkAction {
    var undoRight: Right? { nil }

    /// The default, for actions that cannot be undone.
    func undo(_ result: JobResult, at place: BulkContext) async throws -> JobResult {
        JobResult(row: result.row, .kept, code: "no_undo")
    }
}

/// The job kind of a bulk action. Each row of such a job is the id of one object.
struct BulkJobs<Action: BulkAction>: JobKind {
    let name: String

    func rights(_ job: JobRow) -> [Right] {
        // If this version does not know the action, the job needs every right. No role has every
        // right, so no caller may run the job.
        guard let action = Action(JSONParameters(job.parameters)) else { return Right.allCases }
        if job.isUndoing { return [action.undoRight ?? action.right] }
        return [action.right]
    }

    func step(_ work: JobWork, _ application: Application) async throws -> JobStep {
        let action = try action(of: work.job)
        let place = BulkContext(
            change: work.change, principal: work.principal, application: application)
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
        _ row: JobResult, _ work: JobWork, _ application: Application
    ) async throws -> JobResult {
        let place = BulkContext(
            change: work.change, principal: work.principal, application: application)
        return try await action(of: work.job).undo(row, at: place)
    }

    private func action(of job: JobRow) throws -> Action {
        guard let action = Action(JSONParameters(job.parameters)) else {
            throw Problem.internalError
        }
        return action
    }
}

/// An action on many users. It treats each user as the endpoint for a single user does.
struct UserAction: BulkAction {
    enum Verb: String, Sendable, CaseIterable {
        case suspend, resume, delete, approve
        case setRole = "set_role"
        case endSessions = "end_sessions"
        case revokeKeys = "revoke_keys"
    }

    static let target = "user"

    var verb: Verb
    var reason: String?
    var role: UserRole?

    init(_ verb: Verb, reason: String?, role: UserRole?) {
        self.verb = verb
        self.reason = reason
        self.role = role
    }

    init?(_ parameters: JSONParameters) {
        guard let verb = parameters["action"].flatMap(Verb.init) else { return nil }
        self.init(
            verb, reason: parameters["reason"], role: parameters["role"].flatMap(UserRole.init))
    }

    var parameters: JSONParameters {
        JSONParameters([
            ("action", verb.rawValue), ("reason", reason), ("role", role?.rawValue),
        ])
    }

    var right: Right {
        switch verb {
        case .suspend: .suspendUsers
        case .resume: .resumeUsers
        case .delete: .deleteUsers
        case .approve: .approveUsers
        case .setRole: .editUsers
        case .endSessions: .endSessions
        case .revokeKeys: .revokeKeys
        }
    }

    var undoRight: Right? {
        switch verb {
        case .suspend: .resumeUsers
        case .resume: .suspendUsers
        case .delete: .restoreUsers
        case .setRole: .editUsers
        case .approve, .endSessions, .revokeKeys: nil
        }
    }

    func act(on id: UUID, row: Int, at place: BulkContext) async throws -> JobResult {
        let user = try await locked(id, place.change)
        try Self.require(right, over: user, place)
        if [.resume, .approve].contains(verb) {
            try place.requireCover(of: user.role)
            if user.role == .admin { try place.recent("Letting an admin in") }
        }
        return try await apply(to: user, row: row, at: place)
    }

    /// Performs the action on a locked user, after the rights were checked.
    func apply(to user: UserRow, row: Int, at place: BulkContext) async throws -> JobResult {
        let (change, id) = (place.change, user.id)
        var result = JobResult(row: row, .done, targetType: Self.target, targetID: id)
        switch verb {
        case .suspend:
            let after = try await change.suspendUser(user, reason: reason)
            Self.settle(&result, user.status == .suspended, user, after)
        case .resume:
            let after = try await change.resumeUser(user, reason: reason)
            Self.settle(&result, user.status != .suspended, user, after)
        case .approve:
            let approved = try await change.approveUser(user, reason: reason)
            if user.status == .active {
                result.status = .unchanged
            } else if place.application.sendsMail {
                try await change.tellOfAnswer(
                    to: approved, .joinApproved, reason: reason)
            }
        case .delete:
            try await change.deleteUser(user, reason: reason)
            let after = try await change.lockUser(id)
            Self.settle(&result, user.status == .deleted, user, after)
        case .setRole: try await setRole(of: user, &result, place)
        case .endSessions: try await change.endSessions(of: user, reason: reason)
        case .revokeKeys:
            if try await change.revokeAPIKeys(owner: id, reason: reason) == 0 {
                result.status = .unchanged
            }
        }
        return result
    }

    private func setRole(
        of user: UserRow, _ result: inout JobResult, _ place: BulkContext
    ) async throws {
        guard user.status != .deleted else {
            throw Problem(.conflict, "The user is deleted; restore it first.")
        }
        let role = role ?? user.role
        var after = try await give(role, to: user, place, reason: reason)
        if user.role == role {
            after = try await place.change.actAgain(on: user, .userUpdated, reason: reason)
        }
        Self.settle(&result, user.role == role, user, after)
    }

    private func give(
        _ role: UserRole, to user: UserRow, _ place: BulkContext, reason: String? = nil
    ) async throws -> UserRow {
        // The caller must cover both the role that is given and the role that the user has.
        if role != user.role { try place.requireCover(of: user.role) }
        try place.requireCover(of: role)
        var next = UserEdit(of: user)
        next.role = role
        return try await place.change.editUser(user, to: next, reason: reason)
    }

    func undo(_ result: JobResult, at place: BulkContext) async throws -> JobResult {
        guard let id = result.targetID, let effect = result.effect else {
            return JobResult(row: result.row, .kept, code: "no_undo")
        }
        let change = place.change
        let user = try await locked(id, change)
        try Self.require(undoRight ?? right, over: user, place)
        guard effect["version"] == .int(user.version) else {
            return JobResult(
                row: result.row, .kept, code: "changed",
                detail: "The user has changed since the job, so the job's change stays.")
        }
        if [.suspend, .delete].contains(verb) { try place.requireCover(of: user.role) }
        try await takeBack(user, effect, place)
        return JobResult(row: result.row, .undone)
    }

    private func takeBack(
        _ user: UserRow, _ effect: JSONValue, _ place: BulkContext
    ) async throws {
        let change = place.change
        switch verb {
        case .suspend: _ = try await change.resumeUser(user)
        case .resume: _ = try await change.suspendUser(user)
        case .delete: _ = try await change.restoreUser(user)
        case .setRole:
            let role = effect["role"]?.string.flatMap(UserRole.init) ?? user.role
            _ = try await give(role, to: user, place)
        case .approve, .endSessions, .revokeKeys: break
        }
    }

    /// Throws 409 with the id of the winner if the user was merged.
    private func locked(_ id: UUID, _ change: Change) async throws -> UserRow {
        do {
            return try await change.lockUser(id)
        } catch StorageFailure.notFound {
            guard let winner = try await change.winner(over: id) else {
                throw Problem.notFound("user")
            }
            throw Problem.conflict("The user was merged.", with: winner.description)
        }
    }

    /// Throws 403 if the caller is a user, or a user's key, and the target is that user or has a
    /// higher role. A filter could otherwise include such users by accident.
    private static func require(_ right: Right, over user: UserRow, _ place: BulkContext) throws {
        try place.require(right, owner: user.id)
        switch place.principal {
        case .user(let own, let role, _), .key(_, .user(let own, let role, _), _, _):
            guard own != user.id else {
                throw Problem.forbidden(
                    "The user is the caller's own account.")
            }
            guard user.role <= role else {
                throw Problem.forbidden("The user's role is above the caller's own.")
            }
        case .operator, .key, .anyone: break
        }
    }

    /// Stores the user's version after the action in the result. An undo compares this version with
    /// the user's current version.
    private static func settle(
        _ result: inout JobResult, _ isUnchanged: Bool, _ before: UserRow, _ after: UserRow
    ) {
        if isUnchanged {
            result.status = .unchanged
            return
        }
        result.effect = .object([
            .init("version", .int(after.version)), .init("role", .string(before.role.rawValue)),
        ])
    }
}

/// An action on many invites.
struct InviteAction: BulkAction {
    enum Verb: String, Sendable, CaseIterable { case resend, revoke }

    static let target = "invite"

    var verb: Verb

    init(_ verb: Verb) { self.verb = verb }

    init?(_ parameters: JSONParameters) {
        guard let verb = parameters["action"].flatMap(Verb.init) else { return nil }
        self.verb = verb
    }

    var parameters: JSONParameters { JSONParameters([("action", verb.rawValue)]) }

    var right: Right { .manageInvites }

    func act(on id: UUID, row: Int, at place: BulkContext) async throws -> JobResult {
        let (change, database) = (place.change, place.database)
        let invite = try await change.lockInvite(id)
        try InviteEndpoints.requireRole(
            place.principal, invite.role, in: place.tenant, isGiven: verb == .resend)
        var result = JobResult(row: row, .done, targetType: Self.target, targetID: id)
        switch verb {
        case .resend:
            if invite.role == .admin { try place.recent("An invite of an admin") }
            let sent = try await change.resend(
                invite, .mail, until: place.principal.expiry)
            _ = try await InviteAsking.posted(
                sent, change, database, place.application.publicURL)
        case .revoke:
            if invite.status(at: change.now) == .revoked { result.status = .unchanged }
            _ = try await change.revoke(invite)
        }
        return result
    }
}

/// An action on many API keys of a tenant.
struct APIKeyAction: BulkAction {
    enum Verb: String, Sendable, CaseIterable { case revoke }

    static let target = "api_key"

    var reason: String?

    init(reason: String?) { self.reason = reason }

    init?(_ parameters: JSONParameters) {
        guard parameters["action"].flatMap(Verb.init) != nil else { return nil }
        self.init(reason: parameters["reason"])
    }

    var parameters: JSONParameters {
        JSONParameters([("action", Verb.revoke.rawValue), ("reason", reason)])
    }

    var right: Right { .revokeKeys }

    func act(on id: UUID, row: Int, at place: BulkContext) async throws -> JobResult {
        let change = place.change
        let key = try await change.lockAPIKey(id)
        var owner: UUID?
        if case .user(let id) = key.key.owner { owner = id }
        try place.require(.revokeKeys, owner: owner)
        var result = JobResult(row: row, .done, targetType: Self.target, targetID: id)
        let next = key.key.revoked(at: change.now, reason: reason)
        if next == key.key {
            change.alreadyApplied()
            result.status = .unchanged
        } else {
            _ = try await change.saveAPIKey(key, as: next, action: .apiKeyRevoked)
        }
        return result
    }
}
