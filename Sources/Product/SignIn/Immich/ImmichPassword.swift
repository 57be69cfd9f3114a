import API
import HTTP
import Storage
import Text

/// Changing the password: with the old one, or shortly after signing in without it.
enum ImmichPassword {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/change-password") { call in
            let input = try call.object()
            let person = try await call.personForbiddingKeys()
            let old = try input.required("password")
            let new = try input.required("newPassword")
            guard try await call.isPassword(old, of: person) else {
                throw SignInRefusal.wrongOldPassword
            }
            let user = try await call.changePassword(
                of: person, to: new, endsOthers: try input.flag("invalidateSessions") ?? true)
            return .ok(try await ImmichUser.shown(user, mustChangePassword: false, call))
        },
        ContractRoute(.put, "/api/auth/change-password") { call in
            let input = try call.object()
            let person = try await call.personForbiddingKeys()
            let password = try input.required("password")
            try requireFresh(call, person)
            let user = try await call.changePassword(of: person, to: password)
            return .ok(try await ImmichUser.shown(user, mustChangePassword: false, call))
        },
    ]

    /// Seconds after a sign-in during which the user may set a password without the old one.
    private static let freshFor: Int64 = 300

    /// Only if an operator chose the password, or the session is fresh: otherwise a thief with an
    /// unlocked phone could take the account over.
    static func requireFresh(_ call: ClientCall, _ person: SignedIn) throws {
        guard
            person.secrets.mustChangePassword
                || call.now < person.session.createdAt.adding(seconds: freshFor)
        else { throw Immich.bad("Sign in again to change the password") }
    }
}
