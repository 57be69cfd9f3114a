import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/attribute-schema`: the tenant's rules for its users' attributes.
package enum AttributeSchemaEndpoints {
    package static let all: [Endpoint] = [get, put, delete]

    private static let path = "/v1/tenants/{tenant}/attribute-schema"

    private static let get = Endpoint(
        .get, path, id: "getAttributeSchema", tag: "Users",
        summary:
            "Returns the schema of the users' attributes, and up to 20 users whose attributes "
            + "violate the schema. If no schema was set, it has no rules.",
        access: .right(.readPolicy), answers: [.ok(AttributeSchemaRow.shape)]
    ) { call in
        try await answer(call, try await call.scope.attributeSchema())
    }

    private static let put = Endpoint(
        .put, path, id: "putAttributeSchema", tag: "Users",
        summary:
            "Replaces the schema of the users' attributes. The new schema applies to later writes; "
            + "stored attributes stay as they are. The response counts the users whose "
            + "attributes violate the schema.",
        access: .right(.writePolicy), body: .json(AttributeSchemaRow.shape),
        answers: [.ok(AttributeSchemaRow.shape)], ifMatch: .required
    ) { call in
        let schema = try wanted(call.input)
        return try await answer(call, try await change(call, to: schema))
    }

    private static func answer(_ call: Call, _ row: AttributeSchemaRow) async throws -> Response {
        let found = try await call.scope.attributeViolations(of: row.schema)
        return .ok(row.json(with: found), etag: row.etag)
    }

    private static let delete = Endpoint(
        .delete, path, id: "deleteAttributeSchema", tag: "Users",
        summary: "Removes all rules of the schema. The users' attributes stay.",
        access: .right(.writePolicy), answers: [.noContent], ifMatch: .honoured
    ) { call in
        _ = try await change(call, to: AttributeSchema())
        return .noContent
    }

    private static func change(
        _ call: Call, to schema: AttributeSchema
    ) async throws -> AttributeSchemaRow {
        let row = try await call.scope.change(by: call.actor) { change in
            let tenant = try await change.lockTenant()
            let current = try await change.attributeSchema()
            try call.requireMatch(current.etag)
            try call.input.checkRepeated(against: current.json, but: "violations")
            return try await change.putAttributeSchema(schema, after: current, of: tenant.name)
        }
        guard !row.isRead else { return row }
        try await call.database.indexAttributes(of: call.tenant.id)
        return try await call.scope.attributeSchema()
    }

    /// The rules in the body. Throws 422 if they contradict each other.
    private static func wanted(_ input: Input) throws -> AttributeSchema {
        let members = input["attributes"]?.members ?? []
        let schema = AttributeSchema(
            members.map { .init($0.name, AttributeRule(document: $0.value)) })
        var errors = schema.faults().map { fault in
            FieldError(
                fault.name.map { pointer("/attributes", $0) } ?? "/attributes",
                FieldCode(rawValue: fault.kind.rawValue) ?? .invalid, fault.detail)
        }
        for member in members where !Attributes.isName(member.name) {
            errors.append(
                FieldError(
                    pointer("/attributes", member.name), .invalid,
                    "must be a name of 1 to 64 letters, digits, `_`, `.` and `-`"))
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
        return schema
    }
}

extension AttributeSchemaRow {
    var etag: String { ETag.version(version) }

    var json: JSONValue {
        .object([
            .init("attributes", schema.document), .init("version", .int(version)),
            .init("indexing", .array(unready.map { .string($0) })),
        ])
    }

    func json(with found: AttributeViolations) -> JSONValue {
        let violations = JSONValue.object([
            .init("count", .int(found.count)), .init("exact", .bool(found.isExact)),
            .init("users", .array(found.users.map { .string($0.description) })),
        ])
        return .object((json.members ?? []) + [.init("violations", violations)])
    }

    static let shape = ObjectShape(
        "AttributeSchema", versioned: true,
        [
            FieldShape(
                "attributes", .map(of: .object(rule)), required: true,
                "The rules, by attribute name. There can be at most 64 rules, at most 5 of them "
                    + "with `indexed`.",
                example: .object([
                    .init(
                        "plan",
                        .object([
                            .init("type", .string("string")), .init("indexed", .bool(true)),
                        ]))
                ])),
            .readOnly(
                "version", .integer(0...Int.max),
                "How often the schema was changed; 0 if it was never set."),
            .readOnly(
                "indexing", .array(of: .string()),
                "Indexed names that lists cannot filter by yet, because existing users are still "
                    + "being indexed."),
            .readOnly(
                "violations", .object(violations),
                "The users whose attributes violate the rules, among the first "
                    + "\(AttributeViolations.readLimit) users by id."),
        ])

    private static let violations = ObjectShape(
        "AttributeViolations",
        [
            .readOnly(
                "count", .integer(0...AttributeViolations.readLimit),
                "The number of users whose attributes violate the rules."),
            .readOnly(
                "exact", .bool,
                "Whether all users were examined. If false, `count` can be too small."),
            .readOnly(
                "users", .array(of: .uuid),
                "The ids of the first 20 users whose attributes violate the rules."),
        ])

    private static let rule = ObjectShape(
        "AttributeRule",
        [
            .optional(
                "for", .enumeration(of: AttributeRule.Audience.self),
                "Whether the rule is for public or for private attributes; `public` if absent."),
            .optional(
                "type", .enumeration(of: AttributeRule.Kind.self),
                "The required type; any type if absent."),
            .optional("enum", .array(of: .any, max: 100), "The allowed values."),
            .optional(
                "maxLength", .integer(0...Attributes.byteLimit),
                "The maximum length of a string, in characters."),
            .optional(
                "pattern",
                .string(
                    min: 1, max: LinearPattern.lengthLimit,
                    rule: TextRule(
                        detail: "must consist of literals, `.`, `[…]`, `\\d`, `\\w`, `\\s`, `\\D`, "
                            + "`\\W`, `\\S`, `(…)`, `|`, `^`, `$` and greedy repetitions, and must "
                            + "not be too large",
                        example: "^[a-z]+$"
                    ) { LinearPattern($0) != nil }),
                "A pattern that must match some part of a string: a subset of ECMA-262, without "
                    + "for example look-around, back references, lazy repetition and `\\b`."),
            .optional(
                "required", .bool,
                "Whether users who are created by `POST` or by an import must have the attribute, "
                    + "and users who have it must keep it. People who join do not need it."),
            .optional(
                "indexed", .bool,
                "Whether lists can filter by `attributes.<name>`. The value must not be a list or "
                    + "an object, and has at most 255 bytes."),
            .optional(
                "in_token", .bool,
                "Whether access tokens contain the attribute, which must be public. All such "
                    + "attributes together have at most 1,024 bytes in a token."),
        ])
}
