import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// Links a second account to the signed-in user: both are proved at the same time, which no
/// matching address could do.
enum DeepRecallLinks {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, path) { try await link($0) },
        ContractRoute(.delete, path) { try await unlink($0) },
    ]

    private static let path = "/api/profile/link/{provider}"

    /// An operator's link grant replaces a session: its user need not be able to sign in.
    private static func link(_ call: ClientCall) async throws -> Response {
        // A request with neither is refused first.
        let grant = (try? call.object()).flatMap { DeepRecall.text($0, "link_grant") }
        let user = grant == nil ? try await call.signedIn().user : nil
        let kind = try kind(call)
        let input = try call.object()
        let name = kind == .google ? "id_token" : "access_token"
        guard let token = DeepRecall.text(input, name) else {
            throw DeepRecall.bad("Missing \(name)")
        }
        let person =
            kind == .google
            ? try await call.person(idToken: token, kind: .google)
            : try await call.person(gitHubToken: token)
        switch try await add(person, to: user, by: grant, call) {
        case .linked: break
        case .again: return .ok(told("already_linked", "This account is already linked"))
        case .conflict:
            return .json(
                409, bytes: told("conflict", "This account is linked to another user").encoded())
        case .unknown, .used, .over, .refused:
            throw DeepRecall.bad("The link grant is not valid, or not any more")
        }
        return .ok(
            told(
                "linked", "\(kind.rawValue) account linked successfully",
                .init(
                    "identity",
                    .object([
                        .init("provider", .string(kind.rawValue)),
                        .init("email", person.email.map(JSONValue.string) ?? .null),
                        .init("displayName", person.name.map(JSONValue.string) ?? .null),
                    ]))))
    }

    private static func add(
        _ person: ProvedPerson, to user: UserRow?, by grant: String?, _ call: ClientCall
    ) async throws -> GrantUse {
        if let grant { return try await call.useLinkGrant(grant, for: person) }
        guard let user else { throw SignInRefusal.noCredential }
        do {
            try await call.link(person, to: user)
        } catch let StorageFailure.conflict(_, _, holder) {
            return holder == user.id ? .again(user) : .conflict
        }
        return .linked(user)
    }

    /// Ends the user's sessions, this one too: sessions begun with the account end with it.
    private static func unlink(_ call: ClientCall) async throws -> Response {
        let user = try await call.signedIn().user
        let kind = try kind(call)
        let database = call.core.database
        try await call.scope.change(by: call.actor(user)) { change in
            let row = try await change.lockUser(user.id)
            guard row.identities.count > 1 else {
                throw DeepRecall.bad("Cannot unlink last identity")
            }
            let fitting = row.identities.filter { sameBytes($0.provider, kind.rawValue) }
            guard !fitting.isEmpty else { throw Problem(.notFound, "Identity not found") }
            guard fitting.count < row.identities.count else {
                throw DeepRecall.bad("Cannot unlink last identity")
            }
            for identity in fitting {
                try await change.unlinkIdentity(
                    row, identity.id, isBarred: false, database: database)
            }
        }
        return .ok(told("unlinked", "\(kind.rawValue) account unlinked"))
    }

    private static func kind(_ call: ClientCall) throws -> ProviderKind {
        let name = try call.parameter("provider")
        guard let kind = ProviderKind(rawValue: name), [.google, .github].contains(kind) else {
            throw DeepRecall.bad("Invalid provider")
        }
        return kind
    }

    private static func told(
        _ status: String, _ message: String, _ more: JSONValue.Member...
    ) -> JSONValue {
        .object([.init("status", .string(status)), .init("message", .string(message))] + more)
    }
}
