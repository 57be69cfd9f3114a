import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/providers/{id}/hook-credentials`: credentials with which AWS clients sign their calls of
/// the hooks. The id of a credential is its AWS access key id.
package enum HookCredentialEndpoints {
    package static let all: [Endpoint] = [list, create, delete]

    private static let path = "/v1/providers/{id}/hook-credentials"

    private static let list = Endpoint(
        .get, path, id: "listHookCredentials", tag: "Providers",
        summary: "Lists the provider's hook credentials, newest first.",
        access: .right(.readProviders),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]),
        answers: [.list(HookCredentialRow.shape)], exists: ProviderEndpoints.exists
    ) { call in
        let provider = try await call.ownProvider
        return call.list(
            try await call.database.hookCredentials(of: provider.id, call.listQuery()))
    }

    private static let create = Endpoint(
        .post, path, id: "createHookCredential", tag: "Providers",
        summary: "Creates a credential for AWS Signature Version 4 (service `lambda`), valid only "
            + "for this provider's events. The secret is shown only once.",
        access: .right(.writeProviders),
        body: .json(
            ObjectShape(
                "HookCredentialCreation",
                [
                    .nullable(
                        "name", .string(min: 1, max: 200, rule: .displayName),
                        "Your own name for the credential, which people see in lists and in the "
                            + "audit log.")
                ])),
        answers: [.created(HookCredentialRow.secretShape)], idempotent: true, secret: true,
        exists: ProviderEndpoints.exists
    ) { call in
        let provider = try await call.ownProvider
        let made = try await call.database.scope(provider.tenantID ?? .platform).change(
            by: call.actor
        ) {
            try await $0.createHookCredential(
                for: provider, name: call.input.optionalString("name"),
                boundedBy: try await CallingKey(call.principal)?.held(
                    in: $0, giving: .hooksSignup))
        }
        return .created(
            .written { made.row.write(to: &$0, secret: made.secret) },
            at: "/v1/providers/\(provider.id)/hook-credentials/\(made.row.id)", etag: nil)
    }

    private static let delete = Endpoint(
        .delete, path + "/{credential_id}", id: "deleteHookCredential", tag: "Providers",
        summary: "Removes a credential. Requests that it signs are refused from now on.",
        access: .right(.writeProviders), answers: [.noContent], exists: ProviderEndpoints.exists
    ) { call in
        let provider = try await call.ownProvider
        let id = try call.id("credential_id")
        try await call.database.scope(provider.tenantID ?? .platform)
            .change(by: call.actor) { try await $0.deleteHookCredential(id, of: provider) }
        return .noContent
    }
}

extension HookCredentialRow: JSONView {
    static let shape = ObjectShape(
        "HookCredential",
        [
            .readOnly("id", .uuid, "The credential's id, which is its AWS access key id."),
            .readOnly(
                "provider_id", .uuid,
                "The id of the provider for whose events the credential is valid."),
            .readOnly(
                "name", .string(), nullable: true,
                "Your own name for the credential; `null` if it has none."),
            .readOnly(
                "created_by", .object(APIKeyRow.makerShape), "Who created the credential."),
            .readOnly(
                "expires_at", .timestamp, nullable: true,
                "When the credential expires: the expiry that the API key that created it had "
                    + "then; `null` if the credential never expires."),
            .readOnly(
                "allowed_ips", .array(of: .string()),
                "The addresses or blocks (CIDR) that the credential may be used from: those that "
                    + "the API key that created it had then; empty for any."),
            .readOnly("created_at", .timestamp, "When the credential was created."),
        ])

    static let secretShape = shape.adding(
        "HookCredentialWithSecret",
        [.readOnly("secret", .string(), "The secret access key; never shown again.")])

    package func write(to json: inout JSONWriter) { write(to: &json, secret: nil) }

    func write(to json: inout JSONWriter, secret: String?) {
        json.object { json in
            json.member("id", id)
            json.member("provider_id", providerID)
            json.member("name", name)
            json.object("created_by") {
                $0.member("type", MakerView.type(createdByType, createdByID))
                $0.member("id", MakerView.id(createdByType, createdByID))
            }
            json.member("expires_at", bounds.expiresAt)
            json.member("allowed_ips", bounds.allowedIPs)
            json.member("created_at", createdAt)
            if let secret { json.member("secret", secret) }
        }
    }
}
