import API
import Domain
import Storage
import Text

/// A user's own API keys, as every contract issues them: they are the core's keys.
extension ClientCall {
    /// The user's active keys, with their uses up to now, newest first; at most 200.
    package func ownKeys(of user: UserRow) async throws -> [APIKeyRow] {
        let page = try await scope.apiKeys(ListQuery(limit: 200), APIKeyFilter(owner: user.id))
        return page.rows.filter { row in
            row.key.revokedAt == nil && row.key.expiresAt.map { now < $0 } ?? true
        }
    }

    /// The secret is shown once. `scopes` are of the app's own vocabulary; the caller must have
    /// refused management scopes before. `maker` is the app's key, whose bounds the new key takes;
    /// `nil` if the user asks in a session.
    package func makeKey(
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

    /// A new secret for the same key; the old one ends now. 403 for a key with a right at `/v1`,
    /// since an app's session or key would gain rights that it does not have, and for a key that
    /// reaches further than the calling key.
    package func rotateKey(
        _ id: UUID, by user: UserRow?, with caller: CallerPrincipal?
    ) async throws -> (APIKeyRow, APIKeySecret) {
        let secrets = (live: try newSecret(.live), test: try newSecret(.test))
        return try await scope.change(by: actor(user, caller)) { change in
            let row = try await lock(id, in: change, for: caller)
            guard row.key.scopes.allSatisfy({ ManagementScope(rawValue: $0) == nil }) else {
                throw Problem.forbidden("An app cannot rotate a key that manages the tenant.")
            }
            let secret = row.key.environment == .live ? secrets.live : secrets.test
            let next = try APIKeyRotation.rotate(
                row.key, to: secret.stored, grace: 0, now: change.now)
            let saved = try await change.saveAPIKey(row, as: next, action: .apiKeyRotated)
            return (saved, secret)
        }
    }

    /// Members that are `nil` stay as they are. 403 for a key that reaches further than `caller`.
    package func editKey(
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

    package func revokeKey(
        _ id: UUID, by user: UserRow?, with caller: CallerPrincipal?
    ) async throws {
        try await scope.change(by: actor(user, caller)) { change in
            let row = try await change.lockAPIKey(id)
            let next = row.key.revoked(at: change.now, reason: nil)
            _ = try await change.saveAPIKey(row, as: next, action: .apiKeyRevoked)
        }
    }

    /// Locks the key to be changed; 403 if it reaches further than the calling key.
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

    /// The audit's actor: the app's key, or else the user.
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
