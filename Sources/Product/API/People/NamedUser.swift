import Domain
import HTTP
import JSON
import Storage
import Text

/// One user that the body names.
struct NamedUser: Sendable {
    /// As the body has it: an id or a slug.
    let tenantText: String
    /// Nil if there is no such tenant.
    let scope: TenantScope?
    let id: UUID

    /// In the order of the body, each once.
    static func all(of call: Call) async throws -> [NamedUser] {
        let database = try call.services.database
        var scopes: [String: TenantScope] = [:]
        var users: [NamedUser] = []
        for named in try call.input.objects("users") {
            let (text, id) = (try named.string("tenant"), try named.uuid("id"))
            if scopes[text] == nil, let tenant = try await database.tenant(text) {
                scopes[text] = database.scope(tenant.id)
            }
            let scope = scopes[text]
            let isDouble = users.contains {
                $0.id == id && $0.scope != nil && $0.scope?.tenant == scope?.tenant
            }
            if !isDouble { users.append(NamedUser(tenantText: text, scope: scope, id: id)) }
        }
        guard users.isEmpty else { return users }
        throw Problem.invalid([FieldError("/users", .tooShort, "must name one user at least")])
    }

    /// A user who was merged is a conflict with the id of the one who is left; of no other tenant.
    func missing() async throws -> Problem {
        if let winner = try await scope?.winner(over: id) {
            return Problem.conflict(
                "The user was merged; this is the id of the one who is left.",
                with: winner.description)
        }
        return Problem.notFound("user")
    }

    /// A transaction of this user's tenant, committed and acknowledged when it returns: the next
    /// user's failure takes nothing of it back.
    func changing<Result: Sendable>(
        by call: Call, _ body: (Change) async throws -> Result
    ) async throws -> Result {
        guard let scope else { throw Problem.notFound("tenant") }
        var actor = call.actor
        actor.reason = try call.input.string("reason")
        let result = try await scope.change(by: actor, body)
        try await HeldChange.current?.commit()
        return result
    }

    /// The refusal of one user stands beside the others' results; a fault of ours ends the call.
    func result(_ body: () async throws -> Void) async throws -> PersonResult {
        do {
            try await body()
            return PersonResult(user: self, problem: nil)
        } catch {
            await HeldChange.current?.rollback()
            guard var problem = error as? Problem ?? storageProblem(error) else { throw error }
            if problem.code == .notFound, scope != nil { problem = try await missing() }
            return PersonResult(user: self, problem: problem)
        }
    }
}
