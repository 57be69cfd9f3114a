import Domain
import HTTP
import JSON
import Text

/// The endpoints as an OpenAPI 3.1 document.
package struct OpenAPIDocument: Sendable {
    /// The JSON text of the document.
    package let bytes: [UInt8]

    /// `server` is the server's public address, or `/` if it is unknown.
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
        let problem = JSONValue.Member("Problem", schemas.answer { $0.schema(.problem) })
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
                        .init("contact", .object([.init("name", .string("Gatehouse"))])),
                        .init("x-stability", .string("stable")),
                    ])),
                .init(
                    "externalDocs",
                    .object([
                        .init("description", .string("Guides, operations and errors")),
                        .init("url", .string("/docs")),
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
                        .init("headers", ResponseHeader.components),
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
                        "An API key, or a person's access token. A key has the scopes it was "
                            + "issued with; people have the rights of their "
                            + "role.\n\n" + ManagementScope.list)),
            ])),
        .init(
            "idToken",
            .object([
                .init("type", .string("http")), .init("scheme", .string("bearer")),
                .init(
                    "description",
                    .string(
                        "The id token that a registered provider issued for the person who signs "
                            + "in.")),
            ])),
        .init(
            "session",
            .object([
                .init("type", .string("apiKey")), .init("in", .string("cookie")),
                .init("name", .string("__Host-gatehouse")),
                .init(
                    "description",
                    .string(
                        "The session of the console, only for the console's own pages; programs "
                            + "use an API key. Over http, the cookie is named `gatehouse`. A write "
                            + "needs the header fields `X-Gatehouse-Console: 1` and "
                            + "`Sec-Fetch-Site: same-origin`. A browser that does not send "
                            + "`Sec-Fetch-Site` must send the server's own origin in `Origin`.")),
            ])),
    ])
}

extension String {
    /// The path as OpenAPI writes it. OpenAPI has no parameter that spans segments, so `{rest...}`
    /// becomes `{rest}`.
    fileprivate var replacingRest: String {
        split(separator: "...", omittingEmptySubsequences: false).joined()
    }
}

/// The members of a schema as lines of text. A line has the member's name, its type with its
/// limits, whether it is required, and its description.
struct DocumentFields {
    struct Line {
        var name: String
        var type: String
        var isRequired: Bool
        var text: String
    }

    /// The depth to which nested objects are listed.
    private static let depth = 3

    let document: JSONValue

    /// The lines of a schema, for each object that it allows. If `isInput` is true, read-only
    /// members are omitted.
    func forms(of schema: JSONValue, isInput: Bool) -> [[Line]] {
        shapes(of: schema).map { shape in
            var lines: [Line] = []
            add(shape, under: "", isInput: isInput, depth: Self.depth, to: &lines)
            return lines
        }.filter { !$0.isEmpty }
    }

    /// The object schemas that the schema allows: its alternatives or, if it has none, the schema
    /// itself.
    private func shapes(of schema: JSONValue) -> [JSONValue] {
        let schema = resolved(schema)
        return schema["anyOf"]?.array?.flatMap { shapes(of: $0) } ?? [schema]
    }

    private func add(
        _ schema: JSONValue, under path: String, isInput: Bool, depth: Int, to lines: inout [Line]
    ) {
        let required = schema["required"]?.array?.compactMap(\.string) ?? []
        for member in schema["properties"]?.members ?? [] {
            if isInput, member.value["readOnly"] == .bool(true) { continue }
            let name = path + member.name
            guard !lines.contains(where: { sameBytes($0.name, name) }) else { continue }
            lines.append(
                Line(
                    name: name, type: type(of: member.value),
                    isRequired: required.contains { sameBytes($0, member.name) },
                    text: member.value["description"]?.string ?? ""))
            guard depth > 1, let (inner, mark) = object(in: member.value) else { continue }
            add(inner, under: name + mark + ".", isInput: isInput, depth: depth - 1, to: &lines)
        }
    }

    /// The schema of the object that a member contains, directly or in lists; `nil` if it contains
    /// none. `mark` is `[]` for each list around the object.
    private func object(in schema: JSONValue) -> (JSONValue, mark: String)? {
        for shape in shapes(of: schema) {
            if shape["properties"] != nil { return (shape, "") }
            if let items = shape["items"], let (inner, mark) = object(in: items) {
                return (inner, "[]" + mark)
            }
        }
        return nil
    }

    func type(of schema: JSONValue) -> String {
        let schema = resolved(schema)
        if let any = schema["anyOf"]?.array {
            return any.map { type(of: $0) }.joined(separator: " or ")
        }
        if let names = (schema["enum"] ?? schema[SchemaWriter.growing])?.array {
            let texts = names.map { "`\($0.string ?? "")`" }
            let isNullable = schema["type"]?.array?.contains(.string("null")) ?? false
            return (texts.count == 1 ? texts[0] : "one of " + texts.joined(separator: ", "))
                + (isNullable ? " or null" : "")
        }
        let names =
            schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? "any value"]
        return names.map { name in
            switch name {
            case "string": text(schema)
            case "integer": number(schema)
            case "array": list(schema)
            default: name
            }
        }.joined(separator: " or ")
    }

    private func text(_ schema: JSONValue) -> String {
        let kind = schema["format"]?.string ?? "string"
        let (low, high) = (schema["minLength"]?.int, schema["maxLength"]?.int)
        switch (low, high) {
        case (let low?, let high?): return "\(kind), \(low) to \(high) characters"
        case (nil, let high?): return "\(kind), up to \(high) characters"
        default: return kind
        }
    }

    private func number(_ schema: JSONValue) -> String {
        guard let low = schema["minimum"]?.int else { return "integer" }
        guard let high = schema["maximum"]?.int, high < Int.max else {
            return "integer from \(low)"
        }
        return "integer, \(low) to \(high)"
    }

    private func list(_ schema: JSONValue) -> String {
        let item = schema["items"].map { type(of: $0) } ?? "anything"
        return "list of \(item)" + (schema["maxItems"]?.int.map { ", up to \($0)" } ?? "")
    }

    private func resolved(_ schema: JSONValue) -> JSONValue {
        guard let name = schema["$ref"]?.string?.split(separator: "/").last else { return schema }
        return document["components"]?["schemas"]?[String(name)] ?? schema
    }
}
