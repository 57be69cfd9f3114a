import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// Signing in by password, the first admin, and the end of a session.
enum ImmichSignIn {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/login") { try await signIn($0) },
        ContractRoute(.post, "/api/auth/logout") { try await signOut($0) },
        ContractRoute(.post, "/api/auth/validateToken") { call in
            try ImmichKeys.requireOfApp(try await call.caller())
            return .ok(.object([.init("authStatus", .bool(true))]))
        },
        ContractRoute(.post, "/api/auth/admin-sign-up") { try await signUp($0) },
    ]

    private static func signIn(_ call: ClientCall) async throws -> Response {
        guard call.allowsPasswords else {
            throw Problem(.unauthorized, "Password login has been disabled")
        }
        let input = try call.object()
        let email = try input.required("email")
        let password = try input.required("password")
        guard (try? EmailAddress(email, allowSingleLabel: call.allowsSingleLabel)) != nil else {
            throw Immich.invalid("email", "must be an email")
        }
        let (user, secrets) = try await call.user(
            email: email, password: password, device: ImmichSession.device(call.request))
        return try await ImmichSession.begin(
            call, of: user, .password, mustChangePassword: secrets.mustChangePassword)
    }

    private static func signOut(_ call: ClientCall) async throws -> Response {
        try await call.endOwnSession()
        return ImmichSession.ended(call)
    }

    private static func signUp(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let email = try input.required("email")
        let password = try input.required("password")
        let name = try input.required("name")
        guard try await call.offersAdminSignUp() else {
            throw Immich.bad("The server already has an admin")
        }
        let lower = asciiLowercased(email)
        guard let address = try? EmailAddress(lower, allowSingleLabel: call.allowsSingleLabel)
        else { throw Immich.invalid("email", "must be an email") }
        let hash = try await call.newPasswordHash(password, about: [email, name])
        let database = call.core.database
        let user = try await call.scope.change(by: call.actor()) {
            try await $0.makeFirstAdmin(
                email: address, name: name, passwordHash: hash, client: call.client.name,
                profile: ImmichProfile.firstAdmin, database: database)
        }
        guard let user else { throw Immich.bad("The server already has an admin") }
        let shown = try await ImmichUser.shown(user, mustChangePassword: false, call)
        return .json(201, bytes: shown.encoded())
    }
}
