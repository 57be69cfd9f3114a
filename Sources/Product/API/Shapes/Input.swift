import JSON
import Text

/// Members that passed their shape. Accessors throw only if the shape does not promise the
/// requested type, which is a fault of the declaration and answered 500.
package struct Input: Sendable, Equatable {
    package internal(set) var members: [JSONValue.Member] = []
    /// Read-only members that the body repeated.
    package internal(set) var repeated: [JSONValue.Member] = []

    package init() {}

    /// Present, also if null.
    package func has(_ name: String) -> Bool { self[name] != nil }

    /// Present as null: in a PATCH, to clear the value.
    package func isNull(_ name: String) -> Bool { self[name] == .null }

    /// nil if absent; `.null` if present as null.
    package subscript(name: String) -> JSONValue? {
        members.first { sameBytes($0.name, name) }?.value
    }

    package func optionalString(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }

    package func optionalCase<Value: RawRepresentable<String>>(_ name: String) -> Value? {
        optionalString(name).flatMap(Value.init(rawValue:))
    }

    package func optionalInt(_ name: String) -> Int? {
        if case .number(let text) = self[name] { Int(text) } else { nil }
    }

    package func optionalBool(_ name: String) -> Bool? {
        if case .bool(let value) = self[name] { value } else { nil }
    }

    package func optionalUUID(_ name: String) -> UUID? { optionalString(name).flatMap { UUID($0) } }

    /// nil if absent, null or no RFC 3339 time.
    package func optionalTimestamp(_ name: String) -> Timestamp? {
        optionalString(name).flatMap { Timestamp($0) }
    }

    /// nil if absent, null or no array; items that are no strings are dropped.
    package func optionalStrings(_ name: String) -> [String]? {
        guard case .array(let items) = self[name] else { return nil }
        return items.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    package func optionalObject(_ name: String) -> Input? { self[name].flatMap { Input($0) } }

    /// nil if absent, null or no array; items that are no objects are dropped.
    package func optionalObjects(_ name: String) -> [Input]? {
        guard case .array(let items) = self[name] else { return nil }
        return items.compactMap { Input($0) }
    }

    package func string(_ name: String) throws -> String { try given(optionalString(name)) }
    package func `case`<Value: RawRepresentable<String>>(_ name: String) throws -> Value {
        try given(optionalCase(name))
    }
    /// A required integer of the shape.
    /// 422 for text that is no email address.
    package func emailAddress(_ name: String) throws -> EmailAddress {
        do throws(EmailFault) {
            return try EmailAddress(optionalString(name) ?? "")
        } catch {
            throw Problem.invalid([FieldError("/" + name, .invalid, "must be an email address")])
        }
    }
    package func int(_ name: String) throws -> Int { try given(optionalInt(name)) }
    package func bool(_ name: String) throws -> Bool { try given(optionalBool(name)) }
    package func uuid(_ name: String) throws -> UUID { try given(optionalUUID(name)) }
    package func timestamp(_ name: String) throws -> Timestamp {
        try given(optionalTimestamp(name))
    }
    package func strings(_ name: String) throws -> [String] { try given(optionalStrings(name)) }
    package func object(_ name: String) throws -> Input { try given(optionalObject(name)) }
    package func objects(_ name: String) throws -> [Input] { try given(optionalObjects(name)) }

    /// False when absent.
    package func flag(_ name: String) -> Bool { optionalBool(name) ?? false }

    /// For PATCH: nil keeps the current value, `.some(nil)` clears it.
    package func change<T>(_ name: String, _ read: (Input) -> (String) -> T?) -> T?? {
        guard has(name) else { return nil }
        return .some(read(self)(name))
    }

    init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        self.members = members
    }

    /// An object without a declared shape: the reader checks each member; nil if not an object.
    package init?(object value: JSONValue) { self.init(value) }

    private func given<T>(_ value: T?) throws -> T {
        guard let value else { throw Problem.internalError }
        return value
    }
}

extension Input {
    /// PUT and PATCH may repeat read-only members as GET gave them; a changed one is 422.
    /// `counted`: a member that may differ, since it is counted anew each time. `ways`: for a member's name, what changes
    /// it instead.
    package func checkRepeated(
        against current: JSONValue, but counted: String? = nil, ways: [String: String] = [:]
    ) throws {
        guard let now = Input(current) else { return }
        let changed = repeated.filter {
            now[$0.name] != $0.value
                && !(counted.map { [name = $0.name] in sameBytes($0, name) } ?? false)
        }
        guard changed.isEmpty else {
            throw Problem.invalid(
                changed.map {
                    FieldError(
                        pointer("", $0.name), .changed,
                        "is read-only and differs" + (ways[$0.name].map { "; \($0)" } ?? ""))
                })
        }
    }
}
