import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// `users/me`, which the app also takes for the check of its session.
enum ImmichUser {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/users/me") { call in
            let caller = try await call.caller()
            try ImmichKeys.require("user.read", of: caller)
            guard let user = caller.user else { throw Problem.forbidden("Forbidden") }
            var mustChange = false
            if case .person(let person) = caller { mustChange = person.secrets.mustChangePassword }
            return .ok(json(user, mustChangePassword: mustChange, call))
        },
        ContractRoute(.put, "/api/users/me") { try await update($0) },
    ]

    /// The mobile app changes its password here.
    private static func update(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let person = try await call.personForbiddingKeys()
        var user = person.user
        var mustChange = person.secrets.mustChangePassword
        if let name = input.optionalString("name") {
            guard (1...200).contains(name.unicodeScalars.count) else {
                throw Immich.bad("name must be from 1 to 200 characters")
            }
            user = try await call.scope.change(by: call.actor(user)) { change in
                let row = try await change.lockUser(person.user.id)
                return try await change.editUser(row, name: name, role: row.role)
            }
        }
        if input.has("password") {
            user = try await ImmichPassword.setWithoutOld(
                call, person, try input.required("password"))
            mustChange = false
        }
        return .ok(json(user, mustChangePassword: mustChange, call))
    }

    /// The whole of the app's user, in its order.
    static func json(
        _ user: UserRow, mustChangePassword: Bool, _ call: ClientCall
    ) -> JSONValue {
        let identity = user.identities.first { $0.provider != "password" }
        var members: [JSONValue.Member] = [
            .init("id", .string(user.id.description)),
            .init("email", .string(user.email)),
            .init("name", .string(user.name ?? "")),
            .init("profileImagePath", .string("")),
            .init("avatarColor", .string("primary")),
            .init("profileChangedAt", .string(user.createdAt.description)),
            .init("isAdmin", .bool(sameBytes(user.role, "admin"))),
            .init("shouldChangePassword", .bool(mustChangePassword)),
            .init("storageLabel", .null),
            .init("createdAt", .string(user.createdAt.description)),
            .init("updatedAt", .string(user.updatedAt.description)),
            .init("deletedAt", .null),
            .init("oauthId", .string(identity?.subject ?? "")),
            .init("quotaSizeInBytes", .null),
            .init("quotaUsageInBytes", .int(0)),
            .init("status", .string("active")),
            .init("license", .null),
        ]
        // The older apps' tests know every member that may be there.
        if !call.isCompatible("v2") {
            members.append(.init("clusterGroupId", .string(call.tenant.id.description)))
        }
        return .object(members)
    }
}

extension ClientCall {
    /// What a key may never do: 403 in the app's words.
    func personForbiddingKeys() async throws -> SignedIn {
        switch try await caller() {
        case .person(let person): return person
        case .key: throw Problem.forbidden("Forbidden")
        }
    }
}
