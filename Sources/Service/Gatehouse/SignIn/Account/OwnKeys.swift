import API
import Domain
import Storage
import Text

/// A user's own API keys, which are ordinary keys of the core; every contract issues them through
/// these functions.
extension ClientCall {
    /// Returns the user's active keys, with their uses up to now, newest first; at most 200.
    func ownKeys(of user: UserRow) async throws -> [APIKeyRow] {
        let page = try await scope.apiKeys(ListQuery(limit: 200), APIKeyFilter(owner: user.id))
        return page.rows.filter { row in
            row.key.revokedAt == nil && row.key.expiresAt.map { now < $0 } ?? true
        }
    }

    /// Creates a key and returns it with its secret, which is shown once. `scopes` are the app's
    /// own scopes; the caller must already have refused management scopes. `maker` is the key with
    /// which the app made the request; the new key gets the bounds of this key. `maker` is `nil` if
    /// the user made the request in a session.
    func makeKey(
        name: String, scopes: [String], owner: UserRow, by maker: CallerPrincipal?
    ) async throws -> (APIKeyRow, APIKeySecret) {
        let secret = try newSecret(.live)
        let key = APIKey(
            id: UUID.random(), tenantID: tenant.id, owner: .user(owner.id), name: name,
            environment: .live, current: secret.stored, scopes: scopes, createdAt: now)
        let row = try await scope.change(by: actor(owner, maker)) { change in
            guard let caller = maker.flatMap({ CallingKey($0) }) else {
                return try await change.insertAPIKey(key)
            }
            let held = try await caller.held(in: change)
            return try await change.insertAPIKey(
                try KeyBounding.bounded(key, by: held.key) { _ in false })
        }
        return (row, secret)
    }

    /// Gives the key a new secret; the old one stops working now. Throws 403 for a key with a right
    /// at `/v1`, since the app would gain a right that it does not have. Throws 403 also for a key
    /// that may do more than the calling key.
    func rotateKey(
        _ id: UUID, by user: UserRow?, with caller: CallerPrincipal?
    ) async throws -> (APIKeyRow, APIKeySecret) {
        let secrets = (live: try newSecret(.live), test: try newSecret(.test))
        return try await scope.change(by: actor(user, caller)) { change in
            let row = try await lock(id, in: change, for: caller)
            guard row.key.scopes.allSatisfy({ ManagementScope(rawValue: $0) == nil }) else {
                throw Problem.forbidden(
                    "An app cannot rotate a key that manages the tenant; rotate it with "
                        + "POST /v1/tenants/{tenant}/api-keys/{id}/rotate.")
            }
            let secret = row.key.environment == .live ? secrets.live : secrets.test
            let next = try APIKeyRotation.rotate(
                row.key, to: secret.stored, grace: 0, now: change.now)
            let saved = try await change.saveAPIKey(row, as: next, action: .apiKeyRotated)
            return (saved, secret)
        }
    }

    /// Changes the key; a member that is `nil` stays unchanged. Throws 403 for a key that may do
    /// more than the calling key.
    func editKey(
        _ id: UUID, name: String?, scopes: [String]?, by user: UserRow?,
        with caller: CallerPrincipal?
    ) async throws -> APIKeyRow {
        try await scope.change(by: actor(user, caller)) { change in
            let row = try await lock(id, in: change, for: caller)
            var next = row.key
            next.name = name ?? next.name
            next.scopes = scopes ?? next.scopes
            return try await change.saveAPIKey(row, as: next, action: .apiKeyUpdated)
        }
    }

    func revokeKey(
        _ id: UUID, by user: UserRow?, with caller: CallerPrincipal?
    ) async throws {
        try await scope.change(by: actor(user, caller)) { change in
            let row = try await change.lockAPIKey(id)
            let next = row.key.revoked(at: change.now, reason: nil)
            _ = try await change.saveAPIKey(row, as: next, action: .apiKeyRevoked)
        }
    }

    /// Locks the key that is to be changed and returns it; throws 403 if it may do more than the
    /// calling key.
    private func lock(
        _ id: UUID, in change: Change, for caller: CallerPrincipal?
    ) async throws -> APIKeyRow {
        guard let caller = caller.flatMap({ CallingKey($0) }) else {
            return try await change.lockAPIKey(id)
        }
        let held = try await caller.held(in: change, with: id)
        try KeyBounding.requireWithin(held.target.key, held.caller.key)
        return held.target
    }

    /// Returns the actor for the audit: the app's key, or else the user.
    private func actor(_ user: UserRow?, _ key: CallerPrincipal?) -> Actor {
        var actor = actor(user)
        if let key {
            actor.type = "key"
            actor.id = key.id?.description ?? ""
            actor.name = key.name
        }
        return actor
    }

    private func newSecret(_ environment: APIKeySecret.Environment) throws -> APIKeySecret {
        guard
            let secret = APIKeySecret.make(environment: environment, locator: tenant.locator)
        else { throw Problem.internalError }
        return secret
    }
}
