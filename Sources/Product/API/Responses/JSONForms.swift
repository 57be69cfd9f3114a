import Domain
import JSON
import Storage
import Text

/// Converts values to their JSON form, which is the same for all objects. A missing value is
/// `null`.
extension JSONValue {
    static func uuid(_ id: UUID?) -> JSONValue { id.map { .string($0.description) } ?? .null }
    static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    static func time(_ time: Timestamp?) -> JSONValue {
        time.map { .string($0.description) } ?? .null
    }
    static func strings(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    /// The JSON that `body` writes, as a tree. Only a few callers need the view of an object as a
    /// tree.
    static func written(_ body: (inout JSONWriter) -> Void) -> JSONValue {
        var writer = JSONWriter()
        body(&writer)
        return (try? JSONValue(parsing: writer.bytes)) ?? .null
    }
}

/// An object that writes its `/v1` view as bytes, without a tree in between.
protocol JSONView {
    func write(to json: inout JSONWriter)
}

extension JSONView {
    var json: JSONValue { .written(write) }
}

/// Writes named members in the JSON forms that are the same for all objects.
extension JSONWriter {
    mutating func member(_ name: StaticString, _ id: UUID?) {
        self.name(name)
        guard let id else { return null() }
        ascii(36) { id.write(into: $0) }
    }

    mutating func member(_ name: StaticString, _ text: String?) {
        self.name(name)
        guard let text else { return null() }
        string(text)
    }

    mutating func member(_ name: StaticString, _ word: (some RawRepresentable<String>)?) {
        member(name, word?.rawValue)
    }

    mutating func member(_ name: StaticString, text: StoredText?) {
        self.name(name)
        guard let text else { return null() }
        text.withUTF8 { string($0) }
    }

    /// Writes a JSON object that is already encoded, as the database stores it.
    mutating func member(_ name: StaticString, object: StoredText?) {
        self.name(name)
        guard let object else { return null() }
        object.withUTF8 { raw($0) }
    }

    mutating func member(_ name: StaticString, _ time: Timestamp?) {
        self.name(name)
        guard let time else { return null() }
        ascii(24) { time.write(into: $0) }
    }

    mutating func member(_ name: StaticString, _ value: Int?) {
        self.name(name)
        guard let value else { return null() }
        int(value)
    }

    mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        bool(value)
    }

    mutating func member(_ name: StaticString, _ value: JSONValue) {
        self.name(name)
        self.value(value)
    }

    mutating func member(_ name: StaticString, _ texts: [String]) {
        self.name(name)
        beginArray()
        for text in texts { string(text) }
        endArray()
    }

    mutating func member(_ name: StaticString, _ views: some Collection<some JSONView>) {
        self.name(name)
        beginArray()
        for view in views { view.write(to: &self) }
        endArray()
    }

    mutating func member(_ name: StaticString, _ view: (some JSONView)?) {
        self.name(name)
        guard let view else { return null() }
        view.write(to: &self)
    }

    mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        self.name(name)
        object(members)
    }

    mutating func object(_ members: (inout JSONWriter) -> Void) {
        beginObject()
        members(&self)
        endObject()
    }
}
