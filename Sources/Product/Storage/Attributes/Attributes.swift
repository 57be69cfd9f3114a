import JSON
import Postgres
import Text

/// A customer's own data about a user or a tenant, as a JSON object. It is stored as text, so that
/// numbers and the order of members stay as they were written.
package struct Attributes: Sendable, Equatable {
    /// One JSON object without white space, in UTF-8.
    package let text: String

    static let none = Attributes(stored: "{}")

    /// Creates attributes from a stored text: one JSON object without white space. The form of the
    /// text is not checked.
    init(stored text: String) { self.text = text }

    init(_ members: [JSONValue.Member]) {
        text = String(decoding: JSONValue.object(members).encoded(), as: UTF8.self)
    }

    package var isEmpty: Bool { sameBytes(text, "{}") }

    /// The members, in the order in which the text has them.
    package var members: [JSONValue.Member] {
        (try? JSONValue(parsing: Array(text.utf8)))?.members ?? []
    }

    package subscript(name: String) -> JSONValue? { JSONValue.object(members)[name] }

    /// Returns the attributes after a merge patch (RFC 7396). A null removes its member; a patch
    /// that is itself null removes all members.
    package func merging(_ patch: JSONValue) -> Attributes {
        guard case .object = patch else { return .none }
        return Attributes(Self.merge(patch, into: .object(members)).members ?? [])
    }

    /// Returns the names of the members that differ, in byte order.
    func changedNames(to other: Attributes) -> [String] {
        let (before, after) = (members, other.members)
        let changed = before.filter { !after.contains($0) } + after.filter { !before.contains($0) }
        return Set(changed.map { Array($0.name.utf8) })
            .sorted { $0.lexicographicallyPrecedes($1) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    package static func == (left: Attributes, right: Attributes) -> Bool {
        sameBytes(left.text, right.text)
    }

    private static func merge(_ patch: JSONValue, into target: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members = target.members ?? []
        for change in changes {
            let at = members.firstIndex { sameBytes($0.name, change.name) }
            switch (change.value, at) {
            case (.null, let at?): members.remove(at: at)
            case (.null, nil): break
            case (let value, let at?): members[at].value = merge(value, into: members[at].value)
            case (let value, nil):
                members.append(.init(change.name, merge(value, into: .null)))
            }
        }
        return .object(members)
    }
}

/// The public and the private attributes of one user or tenant.
package struct AttributePair: Sendable, Equatable {
    /// The attributes that verifications and tokens contain.
    package var `public` = Attributes.none
    /// The attributes that only the management API shows.
    package var `private` = Attributes.none

    package init() {}

    init(public text: String, private other: String) {
        `public` = Attributes(stored: text)
        `private` = Attributes(stored: other)
    }

    var isEmpty: Bool { `public`.isEmpty && `private`.isEmpty }
}

extension AuditChanges {
    /// Adds the names of the attributes that changed, without their values.
    mutating func add(_ before: AttributePair, _ after: AttributePair) {
        for (field, names) in [
            ("public_attributes", before.public.changedNames(to: after.public)),
            ("private_attributes", before.private.changedNames(to: after.private)),
        ] where !names.isEmpty {
            add(field, .null, .array(names.map { .string($0) }))
        }
    }
}

/// A reason for which attributes are refused.
package struct AttributeFault: Sendable, Equatable {
    /// The codes for field errors in `/v1`.
    package enum Kind: String, Sendable {
        case required, invalid
        case wrongType = "wrong_type"
        case tooLong = "too_long"
        case notAllowed = "not_allowed"
    }

    /// `public_attributes` or `private_attributes`; empty if it is clear from the call.
    var object = ""
    /// The attribute's name; `nil` if the fault concerns all attributes together.
    package var name: String?
    package var kind: Kind
    /// What is wrong, as the end of a sentence that begins with "the member …".
    package var detail: String

    init(_ name: String?, _ kind: Kind, _ detail: String) {
        self.name = name
        self.kind = kind
        self.detail = detail
    }

    func of(_ object: String) -> AttributeFault {
        var fault = self
        fault.object = object
        return fault
    }
}

/// The error of a write whose attributes would exceed a limit or break the tenant's schema. Nothing
/// is written.
struct AttributeFaults: Error, Sendable {
    let faults: [AttributeFault]

    init(_ faults: [AttributeFault]) { self.faults = faults }
}

/// Limits. They apply to the public and to the private attributes separately.
extension Attributes {
    /// The maximum size of the text without white space, in bytes. A change is limited to the same
    /// size.
    package static let byteLimit = 16_384
    /// The maximum number of members of the object.
    static let countLimit = 64
    /// The maximum length of a member's name, in bytes.
    static let nameLimit = 64
    /// The maximum number of levels of nested objects and arrays, including the outermost object.
    static let depthLimit = 5

    /// The pattern of a valid name, as a regular expression of ECMA-262.
    package static let namePattern = "^[A-Za-z0-9_.-]{1,64}$"

    package static func isName(_ name: String) -> Bool {
        (1...nameLimit).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
                default: false
                }
            }
    }

    /// Returns what is wrong with the members of a change, whose values may be null.
    package static func faults(inChange members: [JSONValue.Member]) -> [AttributeFault] {
        var faults: [AttributeFault] = []
        for member in members {
            if !isName(member.name) {
                faults.append(
                    AttributeFault(
                        member.name, .invalid,
                        "must be a name of 1 to 64 letters, digits, `_`, `.` and `-`"))
            } else if depth(of: member.value) >= depthLimit {
                faults.append(
                    AttributeFault(
                        member.name, .tooLong,
                        "must have at most \(depthLimit - 1) levels of objects and arrays"))
            }
        }
        if faults.isEmpty, JSONValue.object(members).encoded().count > byteLimit {
            faults.append(AttributeFault(nil, .tooLong, "must have at most \(byteLimit) bytes"))
        }
        return faults
    }

    /// Returns the limits that the attributes exceed after a change whose members are valid.
    func faults() -> [AttributeFault] {
        var faults: [AttributeFault] = []
        if text.utf8.count > Self.byteLimit {
            faults.append(
                AttributeFault(nil, .tooLong, "must have at most \(Self.byteLimit) bytes"))
        }
        if members.count > Self.countLimit {
            faults.append(
                AttributeFault(nil, .tooLong, "must have at most \(Self.countLimit) members"))
        }
        return faults
    }

    private static func depth(of value: JSONValue) -> Int {
        switch value {
        case .array(let items): 1 + (items.map(depth).max() ?? 0)
        case .object(let members): 1 + (members.map { depth(of: $0.value) }.max() ?? 0)
        default: 0
        }
    }
}

extension AttributePair {
    /// Throws `AttributeFaults` if a limit is exceeded.
    func requireWithinLimits() throws {
        let faults = faults()
        if !faults.isEmpty { throw AttributeFaults(faults) }
    }

    func faults() -> [AttributeFault] {
        `public`.faults().map { $0.of("public_attributes") }
            + `private`.faults().map { $0.of("private_attributes") }
    }
}

/// The users who do not match the schema. There can be some, because the rules are checked only for
/// values that are written.
package struct AttributeViolations: Sendable {
    /// How many of the users that were read do not match.
    package var count = 0
    /// Whether all users were read.
    package var isExact = true
    /// The ids of the first users who do not match, in the order of their ids.
    package var users: [UUID] = []

    /// The maximum number of users that are read.
    package static let readLimit = 10_000
    /// The maximum number of ids in `users`.
    package static let shownLimit = 20
    /// The number of users that one statement reads.
    fileprivate static let batch = 500
}

extension TenantScope {
    /// Returns the users who do not match the schema. Reads the users in the order of their ids, at
    /// most `readLimit`.
    package func attributeViolations(
        of schema: AttributeSchema
    ) async throws(PostgresError) -> AttributeViolations {
        var found = AttributeViolations()
        if schema.entries.isEmpty { return found }
        var last = UUID.platform
        for _ in 0..<AttributeViolations.readLimit / AttributeViolations.batch {
            let rows = try await read(
                """
                SELECT id, public_attributes, private_attributes FROM users
                WHERE tenant_id = \(tenant) AND id > \(last)\(SQL.everyID) AND status <> 'deleted'
                    AND status <> 'merged' ORDER BY id LIMIT \(raw: "\(AttributeViolations.batch)")
                """)
            for row in rows {
                let (id, shown, kept): (UUID, String, String) = try row.columns()
                last = id
                let pair = AttributePair(public: shown, private: kept)
                if schema.faults(pair, after: AttributePair(), isNew: true).isEmpty { continue }
                found.count += 1
                if found.users.count < AttributeViolations.shownLimit { found.users.append(id) }
            }
            if rows.count < AttributeViolations.batch { return found }
        }
        found.isExact = false
        return found
    }
}
