import JSON
import Text

/// What a tenant's schema says of one attribute.
package struct AttributeRule: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case string, integer, number, boolean, array, object
    }

    package enum Audience: String, Sendable, CaseIterable {
        case `public`, `private`

        /// The object that has it.
        var object: String { rawValue + "_attributes" }
    }

    package var type: Kind?
    /// Values that it may have; nil: any.
    package var values: [JSONValue]?
    package var isRequired = false
    /// Unicode scalars of a string.
    package var maxLength: Int?
    /// A `LinearPattern`.
    package var pattern: String?
    /// Lists of users filter by it.
    package var isIndexed = false
    /// Access tokens carry it.
    package var isInToken = false
    package var audience = Audience.public

    package init() {}

    /// Bytes of an indexed value.
    package static let indexedLimit = 255

    /// What is wrong with a value; nil: nothing.
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
            return AttributeFault(name, .wrongType, "is indexed, so it must be no list or object")
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
    /// The text by which a list is filtered: a string's own, else as it is written.
    var indexedWord: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .bool(let flag): flag ? "true" : "false"
        case .null, .array, .object: nil
        }
    }
}
