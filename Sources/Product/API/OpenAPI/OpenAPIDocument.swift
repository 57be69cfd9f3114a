import Domain
import HTTP
import JSON
import Text

/// The endpoints as an OpenAPI 3.1 document.
package struct OpenAPIDocument: Sendable {
    /// The document, as JSON.
    package let bytes: [UInt8]

    /// `server` is the public address, or `/`.
    package init(endpoints: [Endpoint], version: String, server: String = "/") {
        var schemas = SchemaWriter()
        var paths: [JSONValue.Member] = []
        for endpoint in endpoints {
            let path = endpoint.path.replacingRest
            let operation = JSONValue.Member(
                endpoint.method.rawValue.lowercased(), endpoint.operation(&schemas))
            if let at = paths.firstIndex(where: { sameBytes($0.name, path) }) {
                paths[at].value = .object((paths[at].value.members ?? []) + [operation])
            } else {
                paths.append(JSONValue.Member(path, .object([operation])))
            }
        }
        var tags: [String] = []
        for endpoint in endpoints where !tags.contains(endpoint.tag) { tags.append(endpoint.tag) }
        let problem = JSONValue.Member("Problem", schemas.schema(.problem))
        bytes =
            JSONValue.object([
                .init("openapi", .string("3.1.0")),
                .init(
                    "info",
                    .object([
                        .init("title", .string("Gatehouse")), .init("version", .string(version)),
                        .init(
                            "description",
                            .string(
                                "Tenants, users, invites, provisioning, API keys and origins.")),
                    ])),
                .init("servers", .array([.object([.init("url", .string(server))])])),
                .init(
                    "tags",
                    .array(tags.map { .object([.init("name", .string($0))]) })),
                .init("paths", .object(paths)),
                .init(
                    "components",
                    .object([
                        .init("schemas", .object(schemas.components + [problem])),
                        .init("securitySchemes", Self.securitySchemes),
                    ])),
            ]).encoded()
    }

    private static let securitySchemes: JSONValue = .object([
        .init(
            "key",
            .object([
                .init("type", .string("http")), .init("scheme", .string("bearer")),
                .init(
                    "description",
                    .string(
                        "An API key, or a person's access token. A key is issued with scopes; "
                            + "people have the rights of their role.\n\n" + ManagementScope.list)),
            ])),
        .init(
            "session",
            .object([
                .init("type", .string("apiKey")), .init("in", .string("cookie")),
                .init("name", .string("__Host-gatehouse")),
                .init(
                    "description",
                    .string(
                        "The console's session; by http the cookie is `gatehouse`. It is for our own "
                            + "pages alone: a write needs `X-Gatehouse-Console: 1` and "
                            + "`Sec-Fetch-Site: same-origin`, or from a browser without that field "
                            + "our own `Origin`. Programs use a key.")),
            ])),
    ])
}

extension String {
    /// OpenAPI has no parameter that spans segments: `{rest...}` is written `{rest}`.
    fileprivate var replacingRest: String {
        split(separator: "...", omittingEmptySubsequences: false).joined()
    }
}
