import API
import HTTP
import JSON
import Storage

/// The app's data about a user besides the core's.
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
    /// Whether the user has seen the app's introduction; true unless the app said otherwise.
    var isOnboarded = true
    /// The first admin has not changed the password yet: the app suggests it, nothing requires it.
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

/// The settings of the app's screens. They are about photos, so that nothing is kept: everybody has the
/// app's own initial ones, without which no app ends its sign-in.
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

    /// What was sent, in a whole answer; members that the apps do not know are left out.
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

    /// The value if it is of the same kind, as the generated clients require.
    private static func like(_ one: JSONValue, _ other: JSONValue) -> JSONValue? {
        let isLike =
            one.bool != nil && other.bool != nil || one.int != nil && other.int != nil
            || one.string != nil && other.string != nil
        return isLike ? other : nil
    }

    /// Every member that the generated clients of either generation require.
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
