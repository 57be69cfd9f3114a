import Deadlines
import HTTP
import Routing
import Text

extension Response {
    /// The fields of every response. `isPrivate`: only for its caller and not to be stored.
    package mutating func complete(id: String, isTLS: Bool, isPrivate: Bool) {
        set("x-request-id", id)
        CommonFields.forEach(isTLS: isTLS, isPrivate: isPrivate) {
            addIfAbsent($0.description, $1.description)
        }
        addVary(CommonFields.vary.description)
    }

    mutating func addIfAbsent(_ name: String, _ value: String) {
        if first(name) == nil { fields.append(Field(name, value)) }
    }

    /// One `Vary` line that includes the name, besides those set earlier.
    mutating func addVary(_ name: String) {
        var names: [String] = []
        for line in fields where line.name == "vary" {
            names += line.value.split(separator: ",").map { String($0.trimmingSpaces) }
        }
        if !names.contains(where: { $0.lowercased() == name.lowercased() || $0 == "*" }) {
            names.append(name)
        }
        set("vary", names.joined(separator: ", "))
    }
}

extension Substring {
    var trimmingSpaces: Substring {
        var text = self
        while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.removeFirst() }
        while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.removeLast() }
        return text
    }
}
