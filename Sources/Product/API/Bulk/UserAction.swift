import Domain
import JSON
import Storage
import Text

/// An action on many users, as the one on a single user does it.
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

    /// The action itself, on a locked user; the rights were asked for.
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
            } else if place.services.sendsMail {
                try await change.tellOfAnswer(
                    to: approved, .joinApproved, reason: reason, in: place.database)
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
        // It gives one role, and takes control of who has the other.
        if role != user.role { try place.requireCover(of: user.role) }
        try place.requireCover(of: role)
        var next = user
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
                detail: "The user was changed after the job.")
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

    /// 409 with the id of the user into whom this one was merged.
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

    /// No caller acts in bulk on the own row, nor a person on one of a higher role: by a filter that
    /// happens without being meant.
    private static func require(_ right: Right, over user: UserRow, _ place: BulkContext) throws {
        try place.require(right, owner: user.id)
        switch place.principal {
        case .user(let own, let role, _), .key(_, .user(let own, let role, _), _, _):
            guard own != user.id else { throw Problem.forbidden("This is the caller's own row.") }
            guard user.role <= role else {
                throw Problem.forbidden("The role is above the caller's own.")
            }
        case .operator, .key, .anyone: break
        }
    }

    /// What an undo compares: the version that the action left.
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
