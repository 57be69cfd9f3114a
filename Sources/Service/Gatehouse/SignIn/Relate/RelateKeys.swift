import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The app's API keys, which mail servers accept as well. Their scopes come from the tenant's
/// catalogue, and none of these scopes is a right at `/v1`.
enum RelateKeys {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, path) { try await list($0) },
        ContractRoute(.post, path) { try await create($0) },
        ContractRoute(.post, "\(path)/mobile") { try await createForDevice($0) },
        ContractRoute(.delete, "\(path)/{key}") { call in
            let holder = try await Relate.user(call, writing)
            let row = try await found(call, holder.user)
            try await call.revokeKey(row.key.id, by: holder.user, with: holder.key)
            return .noContent
        },
        ContractRoute(.post, "\(path)/{key}/rotate") { call in
            let holder = try await Relate.user(call, writing)
            let row = try await found(call, holder.user)
            try require(row.key.scopes, of: holder, known: try await catalogue(call))
            let (key, secret) = try await call.rotateKey(
                row.key.id, by: holder.user, with: holder.key)
            return created(key, secret)
        },
    ]

    private static let path = "/api/smtp-credentials"
    /// The scope that marks a key as the key of a device.
    private static let device = "app"
    private static let reading = [device, "api:read"]
    private static let writing = [device, "api:write"]
    private static let platforms = ["ios", "android", "windows", "macos", "web"]

    private static func create(_ call: ClientCall) async throws -> Response {
        let holder = try await Relate.user(call, writing)
        let input = try call.object()
        let name = DisplayText.named(input.optionalString("name") ?? "")
        guard !isBlank(name) else { throw Relate.bad("Name is required") }
        guard name.utf16.count <= 100 else {
            throw Relate.bad("Name must be 100 characters or less")
        }
        guard DisplayText.isName(name) else {
            throw Relate.bad("Name must have no control or invisible characters")
        }
        let known = try await catalogue(call)
        let scopes = try scopes(known, input)
        try require(scopes, of: holder, known: known)
        let (key, secret) = try await call.makeKey(
            name: name, scopes: scopes, owner: holder.user, by: holder.key)
        return created(key, secret)
    }

    /// Creates the key of a device. This is the call that the mobile apps actually make, once after
    /// the sign-in.
    private static func createForDevice(_ call: ClientCall) async throws -> Response {
        let holder = try await Relate.user(call, writing)
        let input = try call.object()
        let deviceName = DisplayText.named(input.optionalString("deviceName") ?? "")
        guard !isBlank(deviceName) else { throw Relate.bad("DeviceName is required") }
        guard DisplayText.isName(deviceName) else {
            throw Relate.bad("DeviceName must have no control or invisible characters")
        }
        let told = input.optionalString("platform") ?? ""
        guard !isBlank(told) else { throw Relate.bad("Platform is required") }
        let platform = platforms.first { sameBytesIgnoringASCIICase($0, told) }
        guard let platform else {
            throw Relate.bad(
                "Invalid platform: \(told). Valid platforms are: "
                    + platforms.joined(separator: ", "))
        }
        try require([device], of: holder, known: [])
        let name = cut("Mobile App - \(deviceName) (\(platform))")
        let (key, secret) = try await call.makeKey(
            name: name, scopes: [device], owner: holder.user, by: holder.key)
        return created(key, secret)
    }

    private static func list(_ call: ClientCall) async throws -> Response {
        let user = try await Relate.user(call, reading).user
        let keys = try await call.ownKeys(of: user)
        var connection: [JSONValue.Member] = []
        for (name, port, securePort) in [
            ("smtp", 587, 465), ("pop3", 110, 995), ("imap", 143, 993),
        ] {
            let set = call.setting(name)
            connection += [
                .init("\(name)Server", .string(set?["server"]?.string ?? "localhost")),
                .init("\(name)Port", .int(set?["port"]?.int ?? port)),
                .init("\(name)SecurePort", .int(set?["secure_port"]?.int ?? securePort)),
                .init("\(name)Enabled", .bool(set?.members != nil)),
            ]
        }
        connection += [
            .init("username", .string(user.email)), .init("activeKeyCount", .int(keys.count)),
        ]
        let items = keys.map { row in
            JSONValue.object([
                .init("id", .string(row.key.id.description)), .init("name", .string(row.key.name)),
                .init("createdAt", .string(row.key.createdAt.description)),
                .init(
                    "lastUsedAt", row.key.lastUsedAt.map { .string($0.description) } ?? .null),
                .init("isActive", .bool(true)),
                .init("scopes", .array(row.key.scopes.map(JSONValue.string))),
            ])
        }
        return .ok(
            .object([
                .init("connectionInfo", .object(connection)), .init("keys", .array(items)),
            ]))
    }

    /// Returns the requested scopes or, if none are requested, all scopes in `known`.
    private static func scopes(_ known: [String], _ input: Input) throws -> [String] {
        let wanted = input["scopes"] ?? .null
        if wanted.isNull || wanted.array?.isEmpty == true { return known }
        guard let items = wanted.array else { throw Relate.bad("Scopes must be a list") }
        var scopes: [String] = []
        for item in items {
            let text = item.string ?? ""
            guard let scope = known.first(where: { sameBytes($0, text) }) else {
                throw Relate.bad(
                    "Invalid scope: \(text). Valid scopes are: \(known.joined(separator: ", "))")
            }
            if !scopes.contains(where: { sameBytes($0, scope) }) { scopes.append(scope) }
        }
        return scopes
    }

    /// Returns the scopes of the tenant's catalogue that are not rights at `/v1`.
    private static func catalogue(_ call: ClientCall) async throws -> [String] {
        try await call.scope.scopeCatalogue().filter { ManagementScope(rawValue: $0) == nil }
    }

    /// Throws 403 if the calling key lacks a scope that the new key would get. A device's key may
    /// give every scope of the tenant, as its user could: the app uses this key to create others,
    /// since it has not kept the user's provider token.
    private static func require(
        _ scopes: [String], of holder: Relate.Holder, known: [String]
    ) throws {
        let isDevice = holder.key != nil && holder.has(device)
        func mayGive(_ scope: String) -> Bool {
            holder.has(scope) || isDevice && known.contains { sameBytes($0, scope) }
        }
        guard scopes.allSatisfy(mayGive) else {
            throw Problem.forbidden("A key cannot grant a scope that it does not have.")
        }
    }

    /// Returns the key that the path names. Throws 404 if it is unknown, revoked or another user's.
    private static func found(_ call: ClientCall, _ user: UserRow) async throws -> APIKeyRow {
        guard let id = UUID(try call.parameter("key")),
            let row = try await call.ownKeys(of: user).first(where: { $0.key.id == id })
        else { throw Problem.notFound("key") }
        return row
    }

    private static func created(_ row: APIKeyRow, _ secret: APIKeySecret) -> Response {
        let key = row.key
        return .ok(
            .object([
                .init("id", .string(key.id.description)), .init("name", .string(key.name)),
                .init("apiKey", .string(secret.text)),
                .init("scopes", .array(key.scopes.map(JSONValue.string))),
                .init("createdAt", .string(key.createdAt.description)),
            ]))
    }

    private static func isBlank(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
    }

    /// Returns at most 100 UTF-16 units of the text, without splitting a character.
    private static func cut(_ text: String) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            guard name.utf16.count + UTF16.width(scalar) <= 100 else { break }
            name.unicodeScalars.append(scalar)
        }
        return name
    }
}
