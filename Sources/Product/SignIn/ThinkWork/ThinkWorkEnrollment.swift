import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// A second identity for a user with an operator's link grant: the grant is the app's `startToken`.
/// The recipient's challenge is shown at the grant's page, which names the account: a link alone adds
/// no sign-in to another person's account.
enum ThinkWorkEnrollment {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/enrollment/consume") { try await consume($0) }
    ]

    private static func consume(_ call: ClientCall) async throws -> Response {
        try call.requireOwnTenant()
        let person = try await call.bearerPerson()
        let input = try call.object()
        guard let token = input.optionalString("startToken"), (1...512).contains(token.utf8.count),
            let challenge = input.optionalString("recipientChallenge"),
            let redirect = input.optionalString("redirectUri"), !redirect.isEmpty
        else { throw Problem(.invalidRequest, "Invalid enrollment request") }
        guard let hash = call.grantHash(token) else { return outcome("invalid_grant", 400) }
        guard sameBytes(challenge, call.core.database.challenge(ofGrant: hash)) else {
            return outcome("invalid_challenge", 400)
        }
        return switch try await call.useLinkGrant(token, for: person) {
        case .linked, .again: outcome("consumed", 200)
        case .unknown, .refused: outcome("invalid_grant", 400)
        case .used: outcome("already_consumed", 400)
        case .over: outcome("expired", 400)
        case .conflict: outcome("identity_conflict", 409)
        }
    }

    private static func outcome(_ name: String, _ status: Int) -> Response {
        .json(status, bytes: JSONValue.object([.init("outcome", .string(name))]).encoded())
    }
}
