import Domain
import Storage
import Text

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
        let (change, database) = (place.change, try place.database)
        let invite = try await change.lockInvite(id)
        try InviteEndpoints.requireRole(
            place.principal, invite.role, in: place.tenant, isGiven: verb == .resend)
        var result = JobResult(row: row, .done, targetType: Self.target, targetID: id)
        switch verb {
        case .resend:
            if invite.role == .admin { try place.recent("An invite of an admin") }
            let sent = try await change.resend(
                invite, .mail, until: place.principal.expiry, in: database)
            _ = try await InviteAsking.posted(
                sent, change, database, place.services.publicURL)
        case .revoke:
            if invite.status(at: change.now) == .revoked { result.status = .unchanged }
            _ = try await change.revoke(invite, in: database)
        }
        return result
    }
}
