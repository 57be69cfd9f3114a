import Domain
import Federation
import JSON
import Storage
import Text

extension ProviderRow: JSONView {
    /// The settings of the document with their defaults, in the order of the wire.
    static let settings: [(name: String, standard: JSONValue)] = [
        ("client_id", .null), ("email_trust", .null), ("domains", .array([])),
        ("endpoints", .object([])), ("authorized_parties", .array([])), ("upstreams", .array([])),
        ("strict_upstreams", .bool(false)), ("client_tenants", .object([])),
        ("admin_create", .string("deny")), ("lambda_open", .string("off")),
    ]

    /// The provider as `/v1` shows it, without its secret.
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("id", id)
            json.member("tenant_id", tenantID)
            if let tenantName { json.member("tenant_name", tenantName) }
            json.member("kind", kind)
            json.member("name", name)
            json.member("issuer", issuer)
            for setting in Self.settings {
                json.name(setting.name)
                json.value(document[setting.name] ?? setting.standard)
            }
            json.member("confirmed", isConfirmed)
            json.member("secret_set", hasSecret)
            if let unreachableSince { json.member("unreachable_since", unreachableSince) }
            json.member("created_at", createdAt)
            json.member("updated_at", updatedAt)
        }
    }

    var etag: String { ETag.version(version) }

    private static let trust = Kind.enumeration(["none", "verified_claim", "authoritative"])
    private static let domain = Kind.string(
        min: 1, max: 253,
        rule: TextRule(detail: "must be a domain name", example: "example.com") {
            (try? DomainName($0)) != nil
        })

    private static let upstream = ObjectShape(
        "ProviderUpstream",
        [
            .required(
                "name",
                .string(
                    min: 1, max: 64,
                    rule: TextRule(
                        detail: "must hold no _, where an event's user name is split",
                        example: "Okta"
                    ) { !$0.utf8.contains(0x5F) })),
            .nullable("kind", .enumeration(["oidc", "google", "github"])),
            .nullable("issuer", .string(min: 1, max: 1024)),
            .nullable("email_trust", trust),
            .optional("domains", .array(of: domain, max: 100)),
        ])

    static let shape = ObjectShape(
        "Provider",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid, nullable: true),
            .readOnly("tenant_name", .string(), always: false),
            FieldShape(
                "kind", .enumeration(["oidc", "google", "github", "cognito", "password"]),
                "Does not change.", example: .string("oidc")),
            FieldShape(
                "name", .string(min: 1, max: 200, rule: .displayName),
                example: .string("Acme sign-in")),
            FieldShape(
                "issuer", .string(min: 1, max: 1024), nullable: true,
                "The issuer's address; of a Cognito pool its id.",
                example: .string("https://sign-in.example.com")),
            .nullable("client_id", .string(min: 1, max: 255, rule: .foreignID)),
            FieldShape(
                "email_trust", trust, nullable: true,
                "What its word about an address is worth; null takes the kind's default."),
            .optional(
                "domains", .array(of: domain, max: 100), "For which `authoritative` counts."),
            .optional(
                "endpoints", .map(of: .string(min: 1, max: 2048)),
                "What discovery does not find, and what is to be used instead; its names are "
                    + RelyingParty.Endpoint.allCases.map { "`\($0.rawValue)`" }
                    .joined(separator: ", ")
                    + ". A GitHub Enterprise Server's follow from its issuer, and its "
                    + "`token_check_endpoint` from `userinfo_endpoint`."),
            .optional(
                "authorized_parties",
                .array(of: .string(min: 1, max: 255, rule: .foreignID), max: 50),
                "Other clients of the provider (`azp`) that may bring id tokens issued for "
                    + "`client_id`; its own clients and Google's need no line here."),
            .optional("upstreams", .array(of: .object(upstream), max: 50)),
            .optional("strict_upstreams", .bool, "Refuses upstreams that are not listed."),
            .optional("client_tenants", .map(of: .string(min: 1, max: 63)), "Client to tenant."),
            .optional("admin_create", .enumeration(["deny", "allow"])),
            .optional("lambda_open", .enumeration(["off", "loopback"])),
            .readOnly(
                "confirmed", .bool,
                "False: a tenant's word about a pool, good for its own credentials alone until "
                    + "the platform's operators edit it."),
            .readOnly("secret_set", .bool, "Whether a secret is kept."),
            .readOnly(
                "unreachable_since", .timestamp, always: false,
                "When this server first failed to fetch its documents, if it has not since."),
            .readOnly("created_at", .timestamp), .readOnly("updated_at", .timestamp),
        ])

    private static let secret = [
        FieldShape.nullable("secret", .string(min: 1, max: 4096), "Taken, never shown.")
    ]

    static let creation = shape.adding(
        nil,
        secret + [.nullable("tenant", .string(min: 1, max: 63), "The owner; none: the platform.")]
    ).creating("ProviderCreation", required: ["kind", "name"])

    static let change: ObjectShape = {
        var shape = Self.shape.adding(nil, secret)
        for index in shape.fields.indices where shape.fields[index].name == "kind" {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("ProviderChange")
    }()
}
