import API
import HTTP
import JSON
import Storage

/// What an app asks of the server before the sign-in.
enum ImmichServer {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/.well-known/immich", isPublic: true) { _ in
            .ok(.object([.init("api", .object([.init("endpoint", .string("/api"))]))]))
        },
        ContractRoute(.get, "/api/server/ping", isPublic: true) { _ in
            .ok(.object([.init("res", .string("pong"))]))
        },
        ContractRoute(.get, "/api/server/version", isPublic: true) { .ok(version($0)) },
        ContractRoute(.get, "/api/server/features", isPublic: true) {
            .ok(try await features($0))
        },
        ContractRoute(.get, "/api/server/config", isPublic: true) { .ok(try await config($0)) },
    ]

    private static func version(_ call: ClientCall) -> JSONValue {
        let set = call.setting("version")
        var members: [JSONValue.Member] = [
            .init("major", .int(set?["major"]?.int ?? (call.isCompatible("v2") ? 2 : 3))),
            .init("minor", .int(set?["minor"]?.int ?? 0)),
            .init("patch", .int(set?["patch"]?.int ?? 0)),
        ]
        if !call.isCompatible("v2") { members.append(.init("prerelease", .null)) }
        return .object(members)
    }

    /// Features that we lack are false; the generated clients require every member.
    private static func features(_ call: ClientCall) async throws -> JSONValue {
        let names = [
            "configFile", "duplicateDetection", "email", "facialRecognition", "importFaces", "map",
            "oauth", "oauthAutoLaunch", "ocr", "passwordLogin", "realtimeTranscoding",
            "reverseGeocoding", "search", "sidecar", "smartSearch", "trash",
        ]
        let hasProvider = try await call.hasProvider()
        return .object(
            names.map { name in
                switch name {
                case "oauth": .init(name, .bool(hasProvider))
                case "passwordLogin": .init(name, .bool(call.allowsPasswords))
                default: .init(name, .bool(false))
                }
            })
    }

    private static func config(_ call: ClientCall) async throws -> JSONValue {
        let isInitialized = try await !call.offersAdminSignUp()
        return .object([
            .init("externalDomain", .string(call.baseURL)),
            .init("isInitialized", .bool(isInitialized)),
            .init("isOnboarded", .bool(true)),
            .init("loginPageMessage", .string("")),
            .init("maintenanceMode", .bool(false)),
            .init("mapDarkStyleUrl", .string("")),
            .init("mapLightStyleUrl", .string("")),
            .init("minFaces", .int(3)),
            .init(
                "oauthButtonText",
                .string(call.setting("button_text")?.string ?? "Login with OAuth")),
            .init("publicUsers", .bool(false)),
            .init("trashDays", .int(30)),
            .init("userDeleteDelay", .int(30)),
        ])
    }
}

extension ClientCall {
    var allowsPasswords: Bool { setting("password_login")?.bool ?? true }

    /// Only while the tenant has no user.
    func offersAdminSignUp() async throws -> Bool {
        guard setting("admin_sign_up")?.bool == true else { return false }
        return try await !scope.hasUsers()
    }
}
