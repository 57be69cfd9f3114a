import Domain
import Storage
import Text

/// The key of a call: what it creates or changes is bounded by its current state.
package struct CallingKey: Sendable {
    package let id: UUID
    /// The nil tenant for a key of the platform.
    private let home: UUID

    /// Nil for operators and users, and for a provider's hook, which creates no keys.
    package init?(_ principal: CallerPrincipal) {
        guard principal.kind == .key, principal.provider == nil, let id = principal.id else {
            return nil
        }
        self.id = id
        home = principal.tenant ?? .platform
    }

    /// The key as it is now, locked until the transaction ends. Throws 401 if it was revoked or has
    /// expired since the call came in: otherwise it would create something that outlives it.
    package func held(in change: Change) async throws -> APIKeyRow {
        guard let row = try await change.holdAPIKey(id, of: home),
            [.active, .grace].contains(row.key.status(at: change.now))
        else { throw Problem.unauthorized("The key has been revoked or has expired.") }
        return row
    }

    /// The same; 403 without the scope that is granted.
    func held(in change: Change, giving scope: ManagementScope) async throws -> APIKeyRow {
        let row = try await held(in: change)
        guard row.key.scopes.contains(where: { sameBytes($0, scope.rawValue) }) else {
            throw Problem.forbidden(
                "The credential cannot give what it has not: \(scope.rawValue).")
        }
        return row
    }

    /// Locks the key to be changed, and this one, in the order of their ids, as every writer of
    /// several keys does.
    package func held(
        in change: Change, with target: UUID
    ) async throws -> (caller: APIKeyRow, target: APIKeyRow) {
        if id < target {
            let caller = try await held(in: change)
            return (caller, try await change.lockAPIKey(target))
        }
        let row = try await change.lockAPIKey(target)
        return (id == target ? row : try await held(in: change), row)
    }
}

extension Call {
    /// A change that makes what ends with its maker: a link, an invite, an operator, a job. A key
    /// that calls is held until it is done: a revocation of the key with all that it made either
    /// finds it, or comes first and this is 401.
    func making<Result: Sendable>(
        in place: TenantScope? = nil, _ body: (Change) async throws -> Result
    ) async throws -> Result {
        let key = CallingKey(principal)
        return try await (place ?? scope).change(by: actor) { change in
            if let key { _ = try await key.held(in: change) }
            return try await body(change)
        }
    }
}

/// What one key may grant to another, and to itself.
package enum KeyBounding {
    /// The new key within its creator's bounds: a member missing in `isGiven` is the creator's. A
    /// limit is shared with the creator, not granted again. 403 for anything that reaches further.
    package static func bounded(
        _ key: APIKey, by maker: APIKey, isGiven: (APIKeyBounds.Part) -> Bool
    ) throws -> APIKey {
        var key = key
        let own = maker.bounds
        if !isGiven(.expiry) { key.expiresAt = own.expiresAt }
        if !isGiven(.addresses) { key.allowedIPs = own.allowedIPs }
        if !isGiven(.origins) { key.allowedOrigins = own.allowedOrigins }
        if !isGiven(.limit) { key.ratePerMinute = own.ratePerMinute }
        key.limitSharedWith = maker.sharedLimit
        let beyond = own.exceeded(by: key.bounds)
        guard beyond.isEmpty else {
            throw refusal(beyond, "The key that makes it does not reach so far")
        }
        return key
    }

    /// 403 unless the key is within the calling one's bounds: changing it, or reading its secret,
    /// would be the same as having it.
    package static func requireWithin(_ key: APIKey, _ caller: APIKey) throws {
        let beyond = caller.bounds.exceeded(by: key.bounds)
        guard beyond.isEmpty else {
            throw refusal(beyond, "The key reaches further than the calling one")
        }
    }

    /// 403 if the change takes a key beyond the calling one, or the calling one beyond itself.
    static func requireNarrower(_ next: APIKey, than key: APIKey, caller: APIKey) throws {
        let isOwn = key.id == caller.id
        let beyond = (isOwn ? key : caller).bounds.exceeded(by: next.bounds, countsCatalogue: isOwn)
        guard beyond.isEmpty else {
            throw refusal(
                beyond,
                isOwn ? "A key does not widen itself" : "The calling key does not reach so far")
        }
    }

    private static func refusal(_ beyond: [APIKeyBounds.Part], _ text: String) -> Problem {
        let names = beyond.map(\.rawValue).joined(separator: ", ")
        return Problem(
            .forbidden, "\(text): \(names).",
            errors: beyond.map {
                FieldError("/\($0.rawValue)", .notAllowed, "is beyond the calling key's own")
            })
    }
}
