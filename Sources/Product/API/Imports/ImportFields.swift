import JSON
import Storage
import Text

/// The members of a row, read leniently: exports write truth and numbers as text, and objects as
/// text in a cell.
struct ImportFields: Sendable {
    let document: JSONValue

    init(_ document: JSONValue) { self.document = document }

    /// The first of these that is there.
    func value(_ names: [String]) -> JSONValue? {
        for name in names {
            if let value = document[name], !value.isNull { return value }
        }
        return nil
    }

    /// Not empty.
    func text(_ names: String...) -> String? {
        switch value(names) {
        case .string(let text): text.isEmpty ? nil : text
        case .number(let text): text
        default: nil
        }
    }

    func flag(_ names: String...) -> Bool {
        switch value(names) {
        case .bool(let flag): flag
        case .string(let text): ["true", "t", "1", "yes"].contains(text.lowercased())
        case .number(let text): sameBytes(text, "1")
        default: false
        }
    }

    func list(_ names: String...) -> [JSONValue] {
        switch value(names) {
        case .array(let items): items
        case .string(let text): parsed(text)?.array ?? []
        default: []
        }
    }

    /// The members of an object.
    func object(_ names: String...) -> [JSONValue.Member] {
        switch value(names) {
        case .object(let members): members
        case .string(let text): parsed(text)?.members ?? []
        default: []
        }
    }

    func fields(_ names: String...) -> ImportFields? {
        switch value(names) {
        case .object(let members): ImportFields(.object(members))
        case .string(let text): parsed(text).map(ImportFields.init)
        default: nil
        }
    }

    private func parsed(_ text: String) -> JSONValue? { try? JSONValue(parsing: Array(text.utf8)) }
}
