import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/api-keys/identify`: which key is this text? For who holds one that leaked and must find it.
enum KeyIdentification {
    static let endpoint = Endpoint(
        .post, "/v1/api-keys/identify", id: "identifyApiKey", tag: "API keys",
        summary:
            "The key whose secret this is, whatever its status; 404 unless the caller may list it. "
            + "It counts as no use, and the text is kept nowhere.",
        access: .principal,
        body: .json(
            ObjectShape("APIKeyIdentification", [.required("key", .string(min: 1, max: 1024))])),
        answers: [.ok(shape)], problems: [.notFound]
    ) { call in
        guard let secret = APIKeySecret(try call.input.string("key")),
            let row = try await row(of: secret, call)
        else { throw Problem.notFound("API key") }
        let scope = try call.services.database.scope(row.key.tenantID ?? .platform)
        let leakedAt = try await scope.leakedAt(ofAPIKey: row.key.id)
        return .ok(
            .object([
                .init("id", .uuid(row.key.id)), .init("tenant_id", .uuid(row.key.tenantID)),
                .init("name", .string(row.key.name)),
                .init("status", .string(row.key.status(at: call.now).rawValue)),
                .init("leaked_at", .time(leakedAt)),
            ]))
    }

    private static func row(of secret: APIKeySecret, _ call: Call) async throws -> APIKeyRow? {
        let database = try call.services.database
        let hash = KeyHash(of: secret.text)
        guard let found = try await database.fetchKey(locator: secret.locator, hash: hash) else {
            return nil
        }
        let target = PermissionTarget(ownerID: found.ownerUser)
        guard
            Permissions.permits(call.principal.subject, .listKeys, in: found.home, target: target)
                == .allowed
        else { return nil }
        return try await database.scope(found.tenant).apiKey(found.id)
    }

    private static let shape = ObjectShape(
        "IdentifiedAPIKey",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid, nullable: true),
            .readOnly("name", .string()),
            .readOnly("status", .enumeration(of: APIKey.Status.self)),
            .readOnly(
                "leaked_at", .timestamp, nullable: true,
                "When it last came in an address, and so stands in access logs."),
        ])
}
