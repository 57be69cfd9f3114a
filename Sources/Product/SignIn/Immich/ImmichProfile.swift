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
