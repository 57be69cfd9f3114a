import JSON
import Text

/// The forms that every object shares: an unknown value is `null`.
extension JSONValue {
    static func uuid(_ id: UUID?) -> JSONValue { id.map { .string($0.description) } ?? .null }
    static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    static func time(_ time: Timestamp?) -> JSONValue {
        time.map { .string($0.description) } ?? .null
    }
    static func strings(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
}
