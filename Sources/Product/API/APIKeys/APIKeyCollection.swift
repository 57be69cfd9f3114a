import Domain
import Storage
import Text

/// A collection of keys: a tenant's, or the platform's under the nil tenant.
struct APIKeyCollection: Sendable {
    let isPlatform: Bool

    static let tenant = APIKeyCollection(isPlatform: false)
    static let platform = APIKeyCollection(isPlatform: true)

    var path: String { isPlatform ? "/v1/api-keys" : "/v1/tenants/{tenant}/api-keys" }

    /// An operation id such as `listPlatformApiKeys`, unique for each collection.
    func operation(_ verb: String, _ noun: String = "ApiKey") -> String {
        verb + (isPlatform ? "Platform" : "") + noun
    }

    /// A right over own keys alone is enough here; the handler checks the key's owner.
    func access(_ right: Right) -> Access {
        if !isPlatform { return .own(right) }
        return .platform(right == .listKeys ? right : .writePlatformKeys)
    }

    func tenantID(_ call: Call) throws -> UUID? { isPlatform ? nil : try call.tenant.id }

    func scope(_ call: Call) throws -> TenantScope {
        isPlatform ? try call.services.database.platformScope : try call.scope
    }

    func location(_ call: Call, _ id: UUID) throws -> String {
        isPlatform ? "/v1/api-keys/\(id)" : "/v1/tenants/\(try call.tenant.id)/api-keys/\(id)"
    }

    func catalogue(_ call: Call) async throws -> [String] {
        isPlatform ? [] : try await call.scope.scopeCatalogue()
    }

    /// Whether the caller has the right over this owner's keys.
    func permits(_ call: Call, _ right: Right, owner: APIKey.Owner) throws -> Bool {
        guard !isPlatform else { return true }
        var target = PermissionTarget()
        if case .user(let id) = owner { target.ownerID = id }
        return try Permissions.permits(
            call.principal.subject, right, in: tenantID(call), target: target) == .allowed
    }

    /// 403 unless the caller may act for the user whose key gets stronger, or a new secret. The one
    /// check for every route at `/v1` by which a caller comes to hold a user's key.
    func requireHolding(_ owner: APIKey.Owner, _ call: Call) async throws {
        guard case .user(let id) = owner, let tenant = try tenantID(call) else { return }
        guard let user = try await call.scope.user(id) else { throw Problem.notFound("user") }
        guard Permissions.mayHoldKeys(call.principal.subject, of: id, user.role, in: tenant) else {
            let lacks = Permissions.lacking(call.principal.subject, for: user.role, in: tenant)
            throw Problem.forbidden(
                "A user's key is for the user and for who may act for the user, who is a "
                    + "\(user.role.rawValue): the right \(Right.linkIdentities.rawValue)"
                    + (lacks.isEmpty ? "" : ", and \(lacks.joined(separator: ", "))")
                    + " is needed.")
        }
    }

    /// 404 for a key that the caller may not see, 403 for one that it may only see.
    func require(_ call: Call, _ right: Right, _ key: APIKey) throws {
        if try permits(call, right, owner: key.owner) { return }
        if try permits(call, .listKeys, owner: key.owner) { throw Problem.forbidden() }
        throw Problem.notFound("API key")
    }

    /// Changes the path's key under its lock: permission, `If-Match`, then the body. A calling key
    /// changes only keys within its own bounds. `isStronger`: the holder of the key could do more, or
    /// the answer shows a secret.
    func change(
        _ call: Call, _ right: Right, action: AuditAction,
        _ body: @Sendable (APIKeyRow, Timestamp) throws -> (key: APIKey, isStronger: Bool)
    ) async throws -> APIKeyRow {
        let id = try call.id()
        return try await scope(call).change(by: call.actor) { change in
            let caller: APIKey?
            let row: APIKeyRow
            if right != .revokeKeys, let key = CallingKey(call.principal) {
                let held = try await key.held(in: change, with: id)
                (caller, row) = (held.caller.key, held.target)
            } else {
                (caller, row) = (nil, try await change.lockAPIKey(id))
            }
            try require(call, right, row.key)
            if let caller { try KeyBounding.requireWithin(row.key, caller) }
            try call.requireMatch(row.etag)
            let (next, isStronger) = try body(row, change.now)
            if isStronger { try await requireHolding(row.key.owner, call) }
            if let caller { try KeyBounding.requireNarrower(next, than: row.key, caller: caller) }
            if next == row.key {
                change.alreadyApplied()
                return row
            }
            return try await change.saveAPIKey(row, as: next, action: action)
        }
    }

    /// Whether the path's key exists and is visible.
    func exists(_ call: Call) async throws -> Bool {
        guard let row = try await scope(call).apiKey(call.id()) else { return false }
        guard !isPlatform, let own = call.bound(.listKeys) else { return true }
        return row.key.owner == .user(own)
    }
}
