import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The app's API keys, which are the user's keys in the core. Their permissions (`asset.read`,
/// `all`) are scopes without a colon, so none is ever a right at `/v1`.
enum ImmichKeys {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/api-keys") { try await create($0) },
        ContractRoute(.get, "/api/api-keys") { call in
            let caller = try await call.caller()
            try require("apiKey.read", of: caller)
            let keys = try await call.ownKeys(of: owner(caller))
            return .json(bytes: JSONValue.array(keys.map { .object(members(of: $0)) }).encoded())
        },
        ContractRoute(.get, "/api/api-keys/me") { call in
            let caller = try await call.caller()
            try requireOfApp(caller)
            guard let id = caller.key?.id, let row = try await call.scope.apiKey(id)
            else { throw Problem.forbidden("Forbidden") }
            return .ok(.object(members(of: row)))
        },
        ContractRoute(.get, "/api/api-keys/{key}") { call in
            let caller = try await call.caller()
            try require("apiKey.read", of: caller)
            return .ok(.object(members(of: try await found(call, caller))))
        },
        ContractRoute(.put, "/api/api-keys/{key}") { try await update($0) },
        ContractRoute(.delete, "/api/api-keys/{key}") { call in
            let caller = try await call.caller()
            try require("apiKey.delete", of: caller)
            let row = try await found(call, caller)
            try await call.revokeKey(row.key.id, by: caller.user, with: caller.key)
            return .noContent
        },
        ContractRoute(.post, "/api/api-keys/{key}/rotate") { call in
            let caller = try await call.caller()
            try require("apiKey.update", of: caller)
            let row = try await found(call, caller)
            guard row.key.scopes.allSatisfy({ has($0, caller) }) else { throw beyond }
            let (key, secret) = try await call.rotateKey(
                row.key.id, by: caller.user, with: caller.key)
            return created(call, key, secret)
        },
    ]

    private static let beyond = Immich.bad("Cannot grant permissions you do not have")

    /// Throws 403 if the caller is a key without the permission; a session has all permissions.
    static func require(_ permission: String, of caller: Caller) throws {
        guard has(permission, caller) else {
            throw Problem.forbidden("Missing required permission: \(permission)")
        }
    }

    /// Throws 403 for a key that has no permission of this app; a session always belongs to this
    /// app.
    static func requireOfApp(_ caller: Caller) throws {
        guard let key = caller.key else { return }
        guard key.scopes.contains(where: { sameBytes($0, "all") || isPermissionOfApp($0) }) else {
            throw Problem.forbidden("Forbidden")
        }
    }

    private static func has(_ permission: String, _ caller: Caller) -> Bool {
        guard case .key(let principal, owner: _) = caller else { return true }
        // `all` includes only permissions of this app, not those that the user's other keys grant
        // at a mail server or at `/v1`.
        let isOfApp = sameBytes(permission, "all") || isPermissionOfApp(permission)
        return principal.scopes.contains {
            sameBytes($0, permission) || isOfApp && sameBytes($0, "all")
        }
    }

    private static func create(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let caller = try await call.caller()
        try require("apiKey.create", of: caller)
        let permissions = try permissions(input)
        guard permissions.allSatisfy({ has($0, caller) }) else { throw beyond }
        let (key, secret) = try await call.makeKey(
            name: try name(input) ?? "API Key", scopes: permissions, owner: owner(caller),
            by: caller.key)
        return created(call, key, secret)
    }

    private static func update(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let caller = try await call.caller()
        try require("apiKey.update", of: caller)
        let row = try await found(call, caller)
        let name = try name(input)
        let permissions = input.has("permissions") ? try permissions(input) : nil
        guard permissions?.allSatisfy({ has($0, caller) }) ?? true else { throw beyond }
        let key = try await call.editKey(
            row.key.id, name: name, scopes: permissions, by: caller.user, with: caller.key)
        return .ok(.object(members(of: key)))
    }

    /// Returns the response for a created key. The newest apps also read the key's members next to
    /// `apiKey`.
    private static func created(
        _ call: ClientCall, _ row: APIKeyRow, _ secret: APIKeySecret
    ) -> Response {
        let key = members(of: row)
        let answer: [JSONValue.Member] = [
            .init("secret", .string(secret.text)), .init("apiKey", .object(key)),
        ]
        return .json(
            201,
            bytes: JSONValue.object(call.isCompatible("v2") ? answer : answer + key).encoded())
    }

    private static func members(of row: APIKeyRow) -> [JSONValue.Member] {
        let key = row.key
        return [
            .init("id", .string(key.id.description)), .init("name", .string(key.name)),
            .init("permissions", .array(key.scopes.map(JSONValue.string))),
            .init("createdAt", .string(key.createdAt.description)),
            .init("updatedAt", .string(row.updatedAt.description)),
        ]
    }

    /// Returns the key that the path names. Throws 400, as the app expects, if it is unknown,
    /// revoked or another user's.
    private static func found(_ call: ClientCall, _ caller: Caller) async throws -> APIKeyRow {
        let owner = try owner(caller)
        guard let id = UUID(try call.parameter("key")),
            let row = try await call.ownKeys(of: owner).first(where: { $0.key.id == id })
        else { throw Immich.bad("API Key not found") }
        return row
    }

    private static func owner(_ caller: Caller) throws -> UserRow {
        guard let user = caller.user else { throw Problem.forbidden("Forbidden") }
        return user
    }

    private static func name(_ input: Input) throws -> String? {
        guard input.has("name") else { return nil }
        let name = DisplayText.named(try input.required("name"))
        guard name.unicodeScalars.count <= 255 else {
            throw Immich.invalid("name", "must be shorter than 256 characters")
        }
        guard DisplayText.isName(name) else {
            throw Immich.invalid("name", "must have no control or invisible characters")
        }
        return name
    }

    /// The allowed numbers of a key's permissions.
    private static let counts = 1...200

    private static func permissions(_ input: Input) throws -> [String] {
        guard let given = input["permissions"]?.array, counts.contains(given.count) else {
            throw Immich.invalid(
                "permissions",
                "must contain \(counts.lowerBound) to \(counts.upperBound) elements")
        }
        return try given.map { value in
            guard let text = value.string, isPermission(text) else {
                throw Immich.invalid(
                    "permissions", text: "each value in permissions must be a permission")
            }
            return text
        }
    }

    /// Whether the text is a permission of this app: it names an object and an action, such as
    /// `asset.read`. A single word is a scope of another app.
    private static func isPermissionOfApp(_ text: String) -> Bool {
        isPermission(text) && text.utf8.contains(UInt8(ascii: "."))
    }

    /// Whether the text is `all`, or words of letters separated by dots.
    private static func isPermission(_ text: String) -> Bool {
        let words = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 64
            && words.allSatisfy { !$0.isEmpty && $0.allSatisfy { ($0 | 0x20) &- 0x61 < 26 } }
    }
}
