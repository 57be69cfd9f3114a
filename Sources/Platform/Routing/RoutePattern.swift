/// The shape of a path: `/` then segments, each a literal or a `{name}`, where the last may be
/// `{name...}` and takes the rest of the path. `/v1/tenants/{tenant}/users/{id}`.
///
///     pattern = "/" [ segment *( "/" segment ) ]
///     segment = literal / "{" name "}" / "{" name "...}" (last only)
///     literal = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" )   name = 1*( a-z / "_" )
package struct RoutePattern: Sendable, Hashable, CustomStringConvertible {
    package enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
        case rest(String)
    }

    package let description: String
    package let segments: [Segment]

    package init(_ text: String) throws(RouteError) {
        guard text.utf8.first == UInt8(ascii: "/") else { throw .malformed(text) }
        description = text
        guard text.utf8.count > 1 else {
            segments = []
            return
        }
        let parts = text.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var segments: [Segment] = []
        for (index, part) in parts.enumerated() {
            guard let segment = Self.segment(Array(part), isLast: index == parts.count - 1) else {
                throw .malformed(text)
            }
            segments.append(segment)
        }
        self.segments = segments
        guard Set(parameterNames).count == parameterNames.count else { throw .malformed(text) }
    }

    /// In the order of the path.
    package var parameterNames: [String] {
        segments.compactMap { segment in
            switch segment {
            case .literal: nil
            case .parameter(let name), .rest(let name): name
            }
        }
    }

    private static func segment(_ part: [UInt8], isLast: Bool) -> Segment? {
        guard part.first == UInt8(ascii: "{") else {
            let plain = part.allSatisfy { isUnreserved($0) }
            return plain && !part.isEmpty ? .literal(String(decoding: part, as: UTF8.self)) : nil
        }
        guard part.last == UInt8(ascii: "}") else { return nil }
        var name = part.dropFirst().dropLast()
        let takesRest = name.suffix(3).elementsEqual([0x2E, 0x2E, 0x2E])
        if takesRest { name = name.dropLast(3) }
        let named = name.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") }
        guard named, !name.isEmpty, isLast || !takesRest else { return nil }
        let text = String(decoding: name, as: UTF8.self)
        return takesRest ? .rest(text) : .parameter(text)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }
}

/// What is wrong with a table; found when it is built, never while serving.
package enum RouteError: Error, Equatable, CustomStringConvertible {
    case malformed(String)
    /// Two declarations match the same requests, or name one path's parameters differently.
    case conflict(String, String)

    package var description: String {
        switch self {
        case .malformed(let text): "route pattern '\(text)' is malformed"
        case .conflict(let first, let second): "route '\(second)' conflicts with '\(first)'"
        }
    }
}
