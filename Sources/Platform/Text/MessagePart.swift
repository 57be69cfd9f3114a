/// A message or a part of one (RFC 5322, 2045): header fields, and the bytes after them. Reads any
/// bytes, in time linear in their number.
package struct MessagePart: Sendable {
    /// Names in lower case; values unfolded, without the spaces around them.
    package let fields: [(name: [UInt8], value: [UInt8])]
    package let body: ArraySlice<UInt8>

    /// More fields than a header has; later ones are not read.
    static let fieldLimit = 500

    /// A line of mailboxes (`From …`) may precede the header.
    package init(_ bytes: ArraySlice<UInt8>) {
        var lines = MessageLines(bytes)
        var rest = lines
        if let first = rest.next(), first.starts(with: "From ".utf8) { lines = rest }
        fields = Self.fields(&lines)
        body = lines.rest
    }

    /// The fields up to an empty line, which is read too, or up to a line that is no field.
    static func fields(_ lines: inout MessageLines) -> [(name: [UInt8], value: [UInt8])] {
        var found: [(name: [UInt8], value: [UInt8])] = []
        while true {
            let before = lines
            guard let line = lines.next(), !line.isEmpty else { return found }
            if isBlank(line[line.startIndex]) {
                guard !found.isEmpty else { continue }
                found[found.count - 1].value += [0x20] + trimmed(line)
                continue
            }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                lines = before
                return found
            }
            if found.count < fieldLimit {
                found.append((ASCII.lower(trimmed(line[..<colon])), trimmed(line[(colon + 1)...])))
            }
        }
    }

    /// The first field of the name, which is in lower case.
    package func first(_ name: String) -> [UInt8]? {
        fields.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(bytes[first...last])
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
