import Domain
import Storage
import Text

/// Reads the settings of a key from a request body that matches the shape. Checks them against the
/// tenant's scope catalogue and the caller's own rights, and converts addresses and origins to
/// their canonical form.
struct APIKeyInput {
    let call: Call
    /// The tenant that owns the key; `nil` for a key of the platform.
    let tenant: UUID?
    private var errors: [FieldError] = []

    init(_ call: Call, tenant: UUID?) {
        self.call = call
        self.tenant = tenant
    }

    /// Returns the key with the body applied; members missing in the body keep their values. Throws
    /// one 422 with all errors, then 403 for scopes that the issuer may not grant.
    mutating func applied(to key: APIKey, catalogue: [String]) throws -> APIKey {
        let input = call.input
        var next = key
        if let name = input.optionalString("name") { next.name = name }
        if let scopes = input.optionalStrings("scopes") {
            // A key may keep a scope that has since been removed from the catalogue.
            next.scopes = known(scopes, catalogue, kept: key.scopes)
        }
        if input.has("rate_limit") {
            next.ratePerMinute = input.optionalObject("rate_limit")?.optionalInt("per_minute")
        }
        if input.has("note") { next.note = input.optionalString("note") }
        if input.has("expires_at") {
            next.expiresAt = input.optionalTimestamp("expires_at")
            if let end = next.expiresAt, end <= call.now, end != key.expiresAt {
                errors.append(FieldError("/expires_at", .outOfRange, "must be in the future"))
            }
        }
        if let ranges = input.optionalStrings("allowed_ips") { next.allowedIPs = spelled(ranges) }
        if let origins = input.optionalStrings("allowed_origins") {
            next.allowedOrigins = normalised(origins)
        }
        guard errors.isEmpty else { throw Problem.invalid(errors) }
        try Self.requireStrength(from: key, to: next, call, tenant)
        return next
    }

    /// Throws 403 if the change widens the key and the caller could not issue the changed key.
    /// Every caller who may write keys may narrow them.
    ///
    /// Throws 422 if the changed key has a bound and the change adds a scope that leads to the
    /// rights of an admin, since the key could then create keys without the bound. A key that
    /// already has such a scope may get a bound.
    private static func requireStrength(
        from key: APIKey, to next: APIKey, _ call: Call, _ tenant: UUID?
    ) throws {
        guard !key.bounds.exceeded(by: next.bounds, countsCatalogue: true).isEmpty else { return }
        try requireGiveable(next.scopes, call, tenant)
        guard next.bounds.limits.isBound else { return }
        let added = next.scopes.enumerated().filter { _, scope in
            !key.scopes.contains { sameBytes($0, scope) }
                && !(ManagementScope(named: scope)?.mayBeBound ?? true)
        }
        guard added.isEmpty else {
            throw Problem.invalid(
                added.map { index, scope in
                    FieldError(
                        "/scopes/\(index)", .notAllowed,
                        "leads to the rights of an admin, so a key bound by allowed_ips, "
                            + "allowed_origins or rate_limit cannot have it: leave out the bound "
                            + "or \(scope)"
                    )
                })
        }
    }

    /// Throws 403 unless the caller may grant all these scopes. No key reaches further than its
    /// issuer.
    static func requireGiveable(_ scopes: [String], _ call: Call, _ tenant: UUID?) throws {
        let beyond = Permissions.scopesBeyond(call.principal.subject, asked: scopes, in: tenant)
        guard beyond.isEmpty else {
            throw Problem.forbidden(
                "The credential cannot grant what it does not have: "
                    + "\(beyond.joined(separator: ", ")).")
        }
    }

    private static let managing = ManagementScope.allCases.map(\.rawValue)
        .joined(separator: ", ")

    /// Returns the scopes without repetitions. Adds an error for each scope that is neither a
    /// management scope, nor in the tenant's catalogue, nor one of `kept`.
    private mutating func known(
        _ scopes: [String], _ catalogue: [String], kept: [String]
    ) -> [String] {
        let all = ManagementScope.allCases.map(\.rawValue) + catalogue + kept
        var seen: [String] = []
        for (index, scope) in scopes.enumerated() {
            if !all.contains(where: { sameBytes($0, scope) }) {
                errors.append(
                    FieldError(
                        "/scopes/\(index)", .notAllowed,
                        "is neither a management scope (\(Self.managing)) nor in the catalogue "
                            + "(\(catalogue.isEmpty ? "none" : catalogue.joined(separator: ", ")))")
                )
            }
            if !seen.contains(where: { sameBytes($0, scope) }) { seen.append(scope) }
        }
        return seen
    }

    /// Returns the address ranges in their shortest form. A single address is not written as a
    /// block. Adds an error for each invalid range.
    private mutating func spelled(_ ranges: [String]) -> [String] {
        ranges.enumerated().compactMap { index, text in
            guard let range = IPRange(text) else {
                errors.append(
                    FieldError(
                        "/allowed_ips/\(index)", .invalid,
                        "must be an IP address or a CIDR block"))
                return nil
            }
            return text.utf8.contains(UInt8(ascii: "/"))
                ? range.description : range.base.description
        }
    }

    private mutating func normalised(_ origins: [String]) -> [String] {
        var spelled: [String] = []
        for (index, text) in origins.enumerated() {
            do throws(OriginFault) {
                spelled.append(try Origin(configuring: text).canonical)
            } catch {
                errors.append(FieldError("/allowed_origins/\(index)", .invalid, error.reason))
            }
        }
        return spelled
    }
}

/// The API key that makes a call. The key's current row limits what the call may create or change.
package struct CallingKey: Sendable {
    package let id: UUID
    /// The tenant that the key belongs to; the nil tenant for a key of the platform.
    private let home: UUID

    /// `nil` if the caller is an operator, a user or a provider's hook. A hook creates no keys.
    package init?(_ principal: CallerPrincipal) {
        guard principal.kind == .key, principal.provider == nil, let id = principal.id else {
            return nil
        }
        self.id = id
        home = principal.tenant ?? .platform
    }

    /// Returns the current row of the key, locked until the transaction ends. Throws 401 if the key
    /// was revoked or has expired since the call arrived, since such a key must not create
    /// anything.
    package func held(in change: Change) async throws -> APIKeyRow {
        guard let row = try await change.holdAPIKey(id, of: home),
            [.active, .grace].contains(row.key.status(at: change.now))
        else { throw Problem.unauthorized("The key has been revoked or has expired.") }
        return row
    }

    /// The current row of the key, locked as by `held(in:)`. Throws 403 if the key does not have
    /// the scope that it is about to grant.
    func held(in change: Change, giving scope: ManagementScope) async throws -> APIKeyRow {
        let row = try await held(in: change)
        guard row.key.scopes.contains(where: { sameBytes($0, scope.rawValue) }) else {
            throw Problem.forbidden(
                "The credential cannot grant what it does not have: \(scope.rawValue).")
        }
        return row
    }

    /// Locks this key and the key that it changes, and returns both rows. The rows are locked in
    /// the order of their ids, as in every change of several keys, so that two changes cannot
    /// deadlock.
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
    /// Makes a change that creates a link, an invite, an operator or a job. Such an object ends
    /// when its creator ends. If the caller is a key, the key is locked until the commit. A
    /// concurrent revocation of the key then comes either after this change, and ends the new
    /// object too, or before this change, which throws 401.
    func making<Result: Sendable>(
        in place: TenantScope? = nil, dryRun: Bool = false,
        _ body: (Change) async throws -> Result
    ) async throws -> Result {
        let key = CallingKey(principal)
        return try await (place ?? scope).change(by: actor, dryRun: dryRun) { change in
            if let key { _ = try await key.held(in: change) }
            return try await body(change)
        }
    }
}

/// The bounds that an API key sets for the keys that it creates and for changes to itself.
package enum KeyBounding {
    /// Returns the new key within its creator's bounds. A setting for which `isGiven` is false gets
    /// the creator's value. A rate limit is shared with the creator, not granted again. Throws 403
    /// if a given setting exceeds the creator's bounds.
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
            throw refusal(beyond, "The new key may not permit more than the key that creates it")
        }
        return key
    }

    /// Throws 403 unless every bound of the key is within those of the calling key. This is checked
    /// before a key is changed or its secret is shown, because the caller could use that key from
    /// then on.
    package static func requireWithin(_ key: APIKey, _ caller: APIKey) throws {
        let beyond = caller.bounds.exceeded(by: key.bounds)
        guard beyond.isEmpty else {
            throw refusal(beyond, "The key permits more than the calling key")
        }
    }

    /// Throws 403 if the change widens a key beyond the bounds of the calling key, or widens the
    /// calling key itself.
    static func requireNarrower(_ next: APIKey, than key: APIKey, caller: APIKey) throws {
        let isOwn = key.id == caller.id
        let beyond = (isOwn ? key : caller).bounds.exceeded(by: next.bounds, countsCatalogue: isOwn)
        guard beyond.isEmpty else {
            throw refusal(
                beyond,
                isOwn ? "A key cannot extend itself" : "The key would exceed the calling key")
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
