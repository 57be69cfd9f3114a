import Domain
import Storage
import Text

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
