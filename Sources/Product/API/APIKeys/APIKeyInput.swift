import Domain
import Storage
import Text

/// A body's key settings, checked beyond the shape: against the tenant's catalogue and the issuer's
/// own rights, with addresses and origins in canonical form.
struct APIKeyInput {
    let call: Call
    /// Nil: a key of the platform.
    let tenant: UUID?
    private var errors: [FieldError] = []

    init(_ call: Call, tenant: UUID?) {
        self.call = call
        self.tenant = tenant
    }

    /// The key after the body is applied; members missing in the body stay. Throws one 422 with all
    /// faults, then 403 for scopes beyond the issuer.
    mutating func applied(to key: APIKey, catalogue: [String]) throws -> APIKey {
        let input = call.input
        var next = key
        if let name = input.optionalString("name") { next.name = name }
        if let scopes = input.optionalStrings("scopes") { next.scopes = known(scopes, catalogue) }
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

    /// Only callers who could issue the changed key may widen its scopes, networks, origins and
    /// expiry; everyone who may write keys may narrow it. Trust is moved by no new key that is bound:
    /// it would make what is not. A bound may be added later.
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
                        "leads to the rights of an admin, so no key bound by allowed_ips, "
                            + "allowed_origins or rate_limit has it: leave out the bound or \(scope)"
                    )
                })
        }
    }

    /// 403 if the caller cannot grant a scope: no key reaches further than its issuer.
    static func requireGiveable(_ scopes: [String], _ call: Call, _ tenant: UUID?) throws {
        let beyond = Permissions.scopesBeyond(call.principal.subject, asked: scopes, in: tenant)
        guard beyond.isEmpty else {
            throw Problem.forbidden(
                "The credential cannot give what it has not: \(beyond.joined(separator: ", ")).")
        }
    }

    private static let managing = ManagementScope.allCases.map(\.rawValue)
        .joined(separator: ", ")

    /// Each scope once, management scopes and the tenant's own.
    private mutating func known(_ scopes: [String], _ catalogue: [String]) -> [String] {
        let all = ManagementScope.allCases.map(\.rawValue) + catalogue
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

    /// Blocks in their shortest form; a single address stays one.
    private mutating func spelled(_ ranges: [String]) -> [String] {
        ranges.enumerated().compactMap { index, text in
            guard let range = IPRange(text) else {
                errors.append(
                    FieldError("/allowed_ips/\(index)", .invalid, "must be an address or a block"))
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
