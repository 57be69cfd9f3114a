import Domain
import JSON
import Postgres
import Text

/// A tenant's rules for the attributes of its users, by name. An attribute without a rule may have
/// any value.
package struct AttributeSchema: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package var name: String
        var rule: AttributeRule

        package init(_ name: String, _ rule: AttributeRule) {
            self.name = name
            self.rule = rule
        }
    }

    /// The rules, in the order in which the tenant sent them.
    var entries: [Entry] = []

    package init(_ entries: [Entry] = []) { self.entries = entries }

    /// The maximum number of rules in a schema.
    static let countLimit = 64
    /// The maximum number of attributes that are indexed.
    static let indexedLimit = 5
    /// The maximum size of the attributes in a token, in bytes of one JSON object.
    static let tokenLimit = 1024

    package subscript(name: String) -> AttributeRule? {
        entries.first { sameBytes($0.name, name) }?.rule
    }

    var indexed: [Entry] { entries.filter(\.rule.isIndexed) }

    /// Whether both schemas index the same attributes.
    func hasIndex(of other: AttributeSchema) -> Bool {
        Set(indexed.map(\.mark)) == Set(other.indexed.map(\.mark))
    }

    /// Returns the rules that a write would break. Values that the write leaves unchanged are not
    /// checked, so that a user from before the schema can be edited. A new user (`isNew`) must have
    /// every required attribute.
    func faults(
        _ new: AttributePair, after old: AttributePair, isNew: Bool
    ) -> [AttributeFault] {
        if entries.isEmpty { return [] }
        var faults: [AttributeFault] = []
        for place in AttributeRule.Audience.allCases {
            let (before, after) = (old[place].members, new[place].members)
            for member in after where !before.contains(member) {
                guard let rule = self[member.name] else { continue }
                let fault =
                    rule.audience == place
                    ? rule.fault(member.name, member.value)
                    : AttributeFault(
                        member.name, .notAllowed, "belongs to \(rule.audience.object)")
                if let fault { faults.append(fault.of(place.object)) }
            }
            for entry in entries where entry.rule.isRequired && entry.rule.audience == place {
                func has(_ members: [JSONValue.Member]) -> Bool {
                    members.contains { sameBytes($0.name, entry.name) }
                }
                guard !has(after), isNew || has(before) else { continue }
                faults.append(
                    AttributeFault(entry.name, .required, "is required").of(place.object))
            }
        }
        let carried = JSONValue.object(tokenMembers(new.public)).encoded().count
        if faults.isEmpty, carried > Self.tokenLimit, new.public != old.public {
            faults.append(
                AttributeFault(
                    nil, .tooLong,
                    "must have at most \(Self.tokenLimit) bytes in the attributes that tokens "
                        + "carry (`in_token`)"
                ).of("public_attributes"))
        }
        return faults
    }

    /// Returns the attributes that an access token contains, in the schema's order. An attribute
    /// that would exceed `tokenLimit` is left out.
    package func inToken(_ attributes: Attributes) -> [JSONValue.Member] {
        var carried: [JSONValue.Member] = []
        for member in tokenMembers(attributes) {
            guard JSONValue.object(carried + [member]).encoded().count <= Self.tokenLimit else {
                continue
            }
            carried.append(member)
        }
        return carried
    }

    private func tokenMembers(_ attributes: Attributes) -> [JSONValue.Member] {
        let wanted = entries.filter { $0.rule.isInToken && $0.rule.audience == .public }
        if wanted.isEmpty { return [] }
        let all = attributes.members
        return wanted.compactMap { entry in all.first { sameBytes($0.name, entry.name) } }
    }

    /// Returns the indexed attributes that have a value, each with its name and its index word.
    func indexedWords(of pair: AttributePair) -> [(name: String, word: String)] {
        indexed.compactMap { entry in
            guard let word = pair[entry.rule.audience][entry.name]?.indexedWord,
                word.utf8.count <= AttributeRule.indexedLimit
            else { return nil }
            return (entry.name, word)
        }
    }
}

extension AttributeSchema.Entry {
    var mark: String { rule.audience.rawValue + " " + name }
}

extension AttributePair {
    subscript(place: AttributeRule.Audience) -> Attributes {
        place == .public ? `public` : `private`
    }
}

/// A tenant's rule for one attribute.
package struct AttributeRule: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case string, integer, number, boolean, array, object
    }

    package enum Audience: String, Sendable, CaseIterable {
        case `public`, `private`

        /// The name of the object within a user that contains the attributes of this audience.
        var object: String { rawValue + "_attributes" }
    }

    var type: Kind?
    /// The allowed values; `nil` if any value is allowed.
    var values: [JSONValue]?
    var isRequired = false
    /// The maximum number of Unicode scalars in a string; `nil` for no limit.
    var maxLength: Int?
    /// The pattern that a string must match, in the syntax of `LinearPattern`; `nil` for none.
    var pattern: String?
    /// Whether lists of users can be filtered by the attribute.
    var isIndexed = false
    /// Whether access tokens contain the attribute.
    var isInToken = false
    var audience = Audience.public

    init() {}

    /// The maximum size of an indexed value's text, in bytes.
    static let indexedLimit = 255

    /// Returns what is wrong with a value; `nil` if it is valid.
    func fault(_ name: String, _ value: JSONValue) -> AttributeFault? {
        if let type, !type.covers(value) {
            return AttributeFault(name, .wrongType, "must be of the type \(type.rawValue)")
        }
        if let values, !values.contains(value) {
            return AttributeFault(name, .notAllowed, "must be one of the schema's values")
        }
        if case .string(let text) = value {
            if let maxLength, text.unicodeScalars.count > maxLength {
                return AttributeFault(name, .tooLong, "must have at most \(maxLength) characters")
            }
            if let pattern, LinearPattern(pattern)?.matches(text) == false {
                return AttributeFault(name, .invalid, "must match \(pattern)")
            }
        }
        guard isIndexed else { return nil }
        guard let word = value.indexedWord else {
            return AttributeFault(
                name, .wrongType, "is indexed, so it must not be a list or an object")
        }
        return word.utf8.count <= Self.indexedLimit
            ? nil
            : AttributeFault(
                name, .tooLong, "is indexed, so it must have at most \(Self.indexedLimit) bytes")
    }
}

extension AttributeRule.Kind {
    fileprivate func covers(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.string, .string), (.number, .number), (.boolean, .bool), (.array, .array),
            (.object, .object):
            true
        case (.integer, .number(let text)):
            text.utf8.allSatisfy { $0 == 0x2D || $0 >= 0x30 && $0 <= 0x39 }
        default: false
        }
    }
}

extension JSONValue {
    /// The text by which lists are filtered: a string's content, or a number or boolean as written.
    /// `nil` for null, arrays and objects.
    var indexedWord: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .bool(let flag): flag ? "true" : "false"
        case .null, .array, .object: nil
        }
    }
}

extension AttributeSchema {
    /// Returns the rules that contradict themselves or exceed a limit.
    package func faults() -> [AttributeFault] {
        var faults: [AttributeFault] = []
        if entries.count > Self.countLimit {
            faults.append(
                AttributeFault(nil, .tooLong, "must have at most \(Self.countLimit) names"))
        }
        if indexed.count > Self.indexedLimit {
            faults.append(
                AttributeFault(
                    nil, .tooLong,
                    "must have at most \(Self.indexedLimit) indexed attributes"))
        }
        for entry in entries {
            let rule = entry.rule
            if rule.isInToken, rule.audience == .private {
                faults.append(
                    AttributeFault(
                        entry.name, .notAllowed,
                        "is private, so `in_token` must be "
                            + "false"))
            }
            if rule.isIndexed, rule.type == .array || rule.type == .object {
                faults.append(
                    AttributeFault(
                        entry.name, .notAllowed,
                        "is a list or an object, which cannot be indexed"))
            }
            if let values = rule.values {
                if values.isEmpty {
                    faults.append(
                        AttributeFault(
                            entry.name, .invalid, "must have at least one value in `enum`"))
                }
                if JSONValue.array(values).encoded().count > Self.enumLimit {
                    faults.append(
                        AttributeFault(
                            entry.name, .tooLong, "has more than \(Self.enumLimit) bytes of values")
                    )
                }
            }
        }
        return faults
    }

    /// The maximum size of the allowed values of one rule, in bytes of JSON.
    static let enumLimit = 4096
}

/// A tenant's attribute schema as stored.
package struct AttributeSchemaRow: Sendable {
    package var schema: AttributeSchema
    /// The version; 0 if no schema was ever stored.
    package var version: Int
    /// The indexed attributes by which lists can be filtered now.
    var ready: [String]
    /// The id of the last user that the indexing has read; `nil` after it has read all users.
    var indexedTo: UUID?

    static let columns: SQL = "s.document, s.version, s.ready, s.indexed_to"

    static let none = AttributeSchemaRow(
        schema: AttributeSchema(), version: 0, ready: [], indexedTo: nil)

    private init(schema: AttributeSchema, version: Int, ready: [String], indexedTo: UUID?) {
        self.schema = schema
        self.version = version
        self.ready = ready
        self.indexedTo = indexedTo
    }

    /// Decodes a row; NULL columns mean that there is no schema.
    init(_ row: Row) throws {
        guard let document: String = try row.get(0, as: String?.self) else {
            self = .none
            return
        }
        schema = AttributeSchema(document: try JSONValue(parsing: Array(document.utf8)))
        version = try row.get(1)
        ready = try row.get(2)
        indexedTo = try row.get(3)
    }

    /// Whether the indexing has read every existing user.
    package var isRead: Bool { indexedTo == nil }

    package func isReady(_ name: String) -> Bool { ready.contains { sameBytes($0, name) } }

    /// The indexed attributes by which lists cannot be filtered yet.
    package var unready: [String] { schema.indexed.map(\.name).filter { !isReady($0) } }
}

extension AttributeSchema {
    /// Decodes a schema from its form in `document`.
    init(document: JSONValue) {
        self.init(
            (document.members ?? []).map { Entry($0.name, AttributeRule(document: $0.value)) })
    }

    /// The schema as `/v1` shows it: an object with a member for each name.
    package var document: JSONValue {
        .object(entries.map { .init($0.name, $0.rule.document) })
    }
}

extension AttributeRule {
    /// Decodes a rule; unknown members are ignored.
    package init(document: JSONValue) {
        self.init()
        type = document["type"]?.string.flatMap(Kind.init(rawValue:))
        values = document["enum"]?.array
        isRequired = document["required"]?.bool ?? false
        maxLength = document["maxLength"]?.int
        pattern = document["pattern"]?.string
        isIndexed = document["indexed"]?.bool ?? false
        isInToken = document["in_token"]?.bool ?? false
        audience = document["for"]?.string.flatMap(Audience.init(rawValue:)) ?? .public
    }

    var document: JSONValue {
        var members: [JSONValue.Member] = [.init("for", .string(audience.rawValue))]
        if let type { members.append(.init("type", .string(type.rawValue))) }
        if let values { members.append(.init("enum", .array(values))) }
        if let maxLength { members.append(.init("maxLength", .int(maxLength))) }
        if let pattern { members.append(.init("pattern", .string(pattern))) }
        for (name, flag) in [
            ("required", isRequired), ("indexed", isIndexed), ("in_token", isInToken),
        ] {
            members.append(.init(name, .bool(flag)))
        }
        return .object(members)
    }
}

extension TenantScope {
    /// Returns the tenant's schema; an empty one if none was stored.
    package func attributeSchema() async throws -> AttributeSchemaRow {
        let rows = try await read(
            """
            SELECT \(AttributeSchemaRow.columns) FROM attribute_schemas s
            WHERE s.tenant_id = \(tenant)
            """)
        return try rows.first.map { try AttributeSchemaRow($0) } ?? .none
    }
}

extension Change {
    /// Returns the schema in force. It cannot change until this transaction ends.
    package func attributeSchema() async throws -> AttributeSchemaRow {
        let rows = try await query(
            """
            SELECT \(AttributeSchemaRow.columns) FROM tenants t
            LEFT JOIN attribute_schemas s ON s.tenant_id = \(tenant)
            WHERE t.id = \(tenant) FOR SHARE OF t
            """)
        return try rows.first.map { try AttributeSchemaRow($0) } ?? .none
    }

    /// Replaces the schema, or changes nothing if the new schema equals `current`. The caller must
    /// have read `current`, the schema in force, after it locked the tenant.
    package func putAttributeSchema(
        _ schema: AttributeSchema, after current: AttributeSchemaRow, of tenantName: String
    ) async throws -> AttributeSchemaRow {
        if schema == current.schema {
            alreadyApplied()
            return current
        }
        let kept = schema.indexed.filter { entry in
            current.isReady(entry.name)
                && current.schema[entry.name]?.audience == entry.rule.audience
        }.map(\.name)
        // If an attribute is no longer indexed, all users are indexed again too, so that the
        // attribute's index words are removed.
        let unread = schema.hasIndex(of: current.schema) ? current.indexedTo : UUID.platform
        let rows = try await query(
            """
            INSERT INTO attribute_schemas AS s
                (tenant_id, document, version, ready, indexed_to, updated_at)
            VALUES (\(tenant), \(schema.text), 1, \(kept), \(unread), \(now))
            ON CONFLICT (tenant_id) DO UPDATE SET document = excluded.document,
                version = s.version + 1, ready = excluded.ready,
                indexed_to = excluded.indexed_to, updated_at = excluded.updated_at
            RETURNING \(AttributeSchemaRow.columns)
            """)
        var changes = AuditChanges()
        let before = current.schema.document
        for entry in current.schema.entries where schema[entry.name] == nil {
            changes.add(entry.name, entry.rule.document, .null)
        }
        for entry in schema.entries {
            changes.add(entry.name, before[entry.name] ?? .null, entry.rule.document)
        }
        try await audit(
            .attributeSchemaUpdated, AuditTarget("attribute_schema", tenant, tenantName), changes)
        return try rows.only { try AttributeSchemaRow($0) }
    }
}

extension AttributeSchema {
    fileprivate var text: String { String(decoding: document.encoded(), as: UTF8.self) }
}
