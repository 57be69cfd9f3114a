import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The app's `users/me`: the user's own data. The app also calls it to check its session.
enum ImmichUser {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/users/me") { call in
            let caller = try await call.caller()
            try ImmichKeys.require("user.read", of: caller)
            guard let user = caller.user else { throw Problem.forbidden("Forbidden") }
            var mustChange = false
            if case .person(let person) = caller { mustChange = person.secrets.mustChangePassword }
            return .ok(try await shown(user, mustChangePassword: mustChange, call))
        },
        ContractRoute(.put, "/api/users/me") { try await update($0) },
    ]

    /// The requested changes. All are checked before any is made.
    private struct Wish {
        var name: String?
        var password: String?
        var profile: [JSONValue.Member] = []

        init(_ input: Input, of user: UserRow, _ call: ClientCall) throws {
            if input.has("email") { try Self.check(email: input.required("email"), user, call) }
            if input.has("name") {
                let text = DisplayText.named(try input.required("name"))
                guard DisplayText.isName(text) else {
                    throw Immich.invalid("name", "must have no control or invisible characters")
                }
                guard text.unicodeScalars.count <= 200 else {
                    throw Immich.invalid("name", "must be shorter than or equal to 200 characters")
                }
                name = text
            }
            if input.has("password") { password = try input.required("password") }
            if let color = input[ImmichProfile.avatarColorName] {
                let text = color.string ?? ""
                guard color.isNull || ImmichProfile.colors.contains(where: { sameBytes($0, text) })
                else {
                    throw Immich.invalid(
                        ImmichProfile.avatarColorName,
                        "must be one of the following values: "
                            + ImmichProfile.colors.joined(separator: ", "))
                }
                profile.append(.init(ImmichProfile.avatarColorName, color))
            }
        }

        /// Throws unless the address is the user's own: a new address must be proved first, which
        /// this app cannot do.
        private static func check(email: String, _ user: UserRow, _ call: ClientCall) throws {
            guard
                let address = try? EmailAddress(email, allowSingleLabel: call.allowsSingleLabel)
            else { throw Immich.invalid("email", "must be an email") }
            guard sameBytes(address.key, user.emailKey) else {
                throw Immich.bad("email can be changed only by an administrator of the server")
            }
        }
    }

    /// Changes the user; the mobile app also changes the password here.
    private static func update(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let person = try await call.personForbiddingKeys()
        let wish = try Wish(input, of: person.user, call)
        var hash: String?
        if let password = wish.password {
            try ImmichPassword.requireFresh(call, person)
            hash = try await call.newPasswordHash(
                password, about: [person.user.email, wish.name ?? person.user.email])
        }
        let user = try await call.scope.change(by: call.actor(person.user)) { [hash] change in
            var row = try await change.lockUser(person.user.id)
            if let name = wish.name {
                row = try await change.renameUser(row, name)
            }
            if !wish.profile.isEmpty {
                try await change.editClientProfile(of: row.id, at: call.client.name, wish.profile)
            }
            guard let hash else { return row }
            return try await change.setPassword(hash, of: row.id, keeping: .only(person.session.id))
        }
        let mustChange = hash == nil && person.secrets.mustChangePassword
        return .ok(try await shown(user, mustChangePassword: mustChange, call))
    }

    /// Returns the user with the app's data about them.
    static func shown(
        _ user: UserRow, mustChangePassword: Bool, _ call: ClientCall
    ) async throws -> JSONValue {
        let profile = try await call.immichProfile(of: user)
        return json(user, profile, mustChangePassword: mustChangePassword, call)
    }

    /// Returns the app's complete user object, with the members in its order.
    private static func json(
        _ user: UserRow, _ profile: ImmichProfile, mustChangePassword: Bool, _ call: ClientCall
    ) -> JSONValue {
        let identity = user.identities.first { $0.provider != "password" }
        var members: [JSONValue.Member] = [
            .init("id", .string(user.id.description)),
            .init("email", .string(email(of: user))),
            .init("name", .string(user.name ?? "")),
            .init("profileImagePath", .string("")),
            .init("avatarColor", .string(profile.avatarColor)),
            .init("profileChangedAt", .string(user.createdAt.description)),
            .init("isAdmin", .bool(user.role == .admin)),
            .init(
                "shouldChangePassword", .bool(mustChangePassword || profile.hasFirstPassword)),
            .init("storageLabel", profile.storageLabel.map(JSONValue.string) ?? .null),
            .init("createdAt", .string(user.createdAt.description)),
            .init("updatedAt", .string(user.updatedAt.description)),
            .init("deletedAt", .null),
            .init("oauthId", .string(identity?.subject ?? "")),
            .init("quotaSizeInBytes", .null),
            .init("quotaUsageInBytes", .int(0)),
            .init("status", .string("active")),
            .init("license", .null),
        ]
        // The tests of the older apps refuse a member that they do not know.
        if !call.isCompatible("v2") {
            members.append(.init("clusterGroupId", .string(call.tenant.id.description)))
        }
        return .object(members)
    }

    /// Returns the address in lower case, as the app's own server stores it and its tests compare
    /// it.
    static func email(of user: UserRow) -> String { asciiLowercased(user.email) }
}

extension ClientCall {
    /// Returns the signed-in user, for requests that a key may never make. Throws 403 with the
    /// app's text if the caller is a key.
    func personForbiddingKeys() async throws -> SignedIn {
        switch try await caller() {
        case .person(let person): return person
        case .key: throw Problem.forbidden("Forbidden")
        }
    }
}

/// The data about a user that only the app needs and the core does not have.
struct ImmichProfile: Sendable {
    static let colors = [
        "primary", "pink", "red", "yellow", "blue", "green", "purple", "orange", "gray", "amber",
    ]
    /// The first admin's initial settings, as the app's own server sets them.
    static let firstAdmin: [JSONValue.Member] = [
        .init(storageLabelName, .string("admin")), .init(onboardedName, .bool(false)),
        .init(firstPasswordName, .bool(true)),
    ]
    static let avatarColorName = "avatarColor"
    private static let storageLabelName = "storageLabel"
    private static let onboardedName = "isOnboarded"
    private static let firstPasswordName = "shouldChangePassword"

    var avatarColor = "primary"
    var storageLabel: String?
    /// Whether the user has seen the app's introduction; true unless the app set it to false.
    var isOnboarded = true
    /// Whether the first admin has not changed the first password yet. The app suggests a change,
    /// but nothing requires it.
    var hasFirstPassword = false

    init(_ stored: ClientProfile) {
        let document = stored.document
        avatarColor = document[Self.avatarColorName]?.string ?? avatarColor
        storageLabel = document[Self.storageLabelName]?.string
        isOnboarded = document[Self.onboardedName]?.bool ?? true
        hasFirstPassword = stored.hasFirstPassword && document[Self.firstPasswordName]?.bool == true
    }

    static let routes: [ContractRoute] = [
        ContractRoute(.get, onboarding) { call in
            let person = try await call.personForbiddingKeys()
            return shown(try await call.immichProfile(of: person.user).isOnboarded)
        },
        ContractRoute(.put, onboarding) { call in
            let input = try call.object()
            let person = try await call.personForbiddingKeys()
            guard let isOnboarded = try input.flag(onboardedName) else {
                throw Immich.invalid(onboardedName, "must be a boolean value")
            }
            try await set(isOnboarded, of: person, call)
            return shown(isOnboarded)
        },
        ContractRoute(.delete, onboarding) { call in
            let person = try await call.personForbiddingKeys()
            try await set(false, of: person, call)
            return .noContent
        },
    ]

    private static let onboarding = "/api/users/me/onboarding"

    private static func set(
        _ isOnboarded: Bool, of person: SignedIn, _ call: ClientCall
    ) async throws {
        try await call.scope.change(by: call.actor(person.user)) {
            try await $0.editClientProfile(
                of: person.user.id, at: call.client.name,
                [.init(onboardedName, .bool(isOnboarded))])
        }
    }

    private static func shown(_ isOnboarded: Bool) -> Response {
        .ok(.object([.init(onboardedName, .bool(isOnboarded))]))
    }
}

extension ClientCall {
    func immichProfile(of user: UserRow) async throws -> ImmichProfile {
        ImmichProfile(try await scope.clientProfile(of: user.id, at: client.name))
    }
}

/// The settings of the app's screens. They are about photos, so none are stored: every user gets
/// the app's own initial settings, which apps need to complete the sign-in.
enum ImmichPreferences {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, path) { call in
            _ = try await owner(call, "userPreference.read")
            return .ok(initial)
        },
        ContractRoute(.put, path) { call in
            let input = try call.object()
            _ = try await owner(call, "userPreference.update")
            return .ok(echo(input))
        },
    ]

    private static let path = "/api/users/me/preferences"

    private static func owner(_ call: ClientCall, _ permission: String) async throws -> UserRow {
        let caller = try await call.caller()
        try ImmichKeys.require(permission, of: caller)
        guard let user = caller.user else { throw Problem.forbidden("Forbidden") }
        return user
    }

    /// Returns the sent settings as a complete response; members that the apps do not know are left
    /// out.
    private static func echo(_ input: Input) -> JSONValue {
        .object(
            (initial.members ?? []).map { group in
                .init(
                    group.name,
                    .object(
                        (group.value.members ?? []).map { one in
                            let sent = input[group.name]?[one.name]
                            return .init(
                                one.name, sent.flatMap { like(one.value, $0) } ?? one.value)
                        }))
            })
    }

    /// Returns `other` if it has the same JSON type as `one`, as the generated clients require;
    /// otherwise `nil`.
    private static func like(_ one: JSONValue, _ other: JSONValue) -> JSONValue? {
        let isLike =
            one.bool != nil && other.bool != nil || one.int != nil && other.int != nil
            || one.string != nil && other.string != nil
        return isLike ? other : nil
    }

    /// The initial settings. They have every member that the generated clients require, those of
    /// older apps and those of newer ones.
    private static let initial = object([
        ("albums", object([("defaultAssetOrder", .string("desc"))])),
        ("cast", object([("gCastEnabled", .bool(false))])),
        (
            "download",
            object([
                ("archiveSize", .int(4_294_967_296)), ("includeEmbeddedVideos", .bool(false)),
            ])
        ),
        (
            "emailNotifications",
            object([
                ("albumInvite", .bool(true)), ("albumUpdate", .bool(true)), (enabled, .bool(true)),
            ])
        ),
        ("folders", object([(enabled, .bool(false)), (sidebar, .bool(false))])),
        (
            "memories",
            object([("duration", .int(5)), (enabled, .bool(true)), (sidebar, .bool(true))])
        ),
        (
            "people",
            object([
                (enabled, .bool(true)), ("minimumFaces", .int(3)), (sidebar, .bool(false)),
                ("updateStrategy", .string("everyone")),
            ])
        ),
        (
            "purchase",
            object([
                ("hideBuyButtonUntil", .string("2022-02-12T00:00:00.000Z")),
                ("showSupportBadge", .bool(true)),
            ])
        ),
        ("ratings", object([(enabled, .bool(false))])),
        ("recentlyAdded", object([(sidebar, .bool(false))])),
        ("sharedLinks", object([(enabled, .bool(true)), (sidebar, .bool(false))])),
        ("tags", object([(enabled, .bool(false)), (sidebar, .bool(false))])),
    ])

    private static let enabled = "enabled"
    private static let sidebar = "sidebarWeb"

    private static func object(_ members: [(String, JSONValue)]) -> JSONValue {
        .object(members.map { .init($0.0, $0.1) })
    }
}
