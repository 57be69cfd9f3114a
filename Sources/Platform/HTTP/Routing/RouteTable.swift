import Text

/// All routes, as a trie over path segments. It is built once at start and only read afterwards.
///
/// At each segment a literal is tried first, then a parameter, then a parameter that takes the rest
/// of the path. If one of these leads to no route, the next is tried. So `/users/duplicates` and
/// `/users/{id}/sessions` can coexist. Literals are compared with the path's bytes as sent.
package struct RouteTable<Value: Sendable>: Sendable {
    private struct Leaf: Sendable {
        var pattern: RoutePattern
        var values: [(method: Method, value: Value)]
    }

    private struct Node: Sendable {
        var literals: [(bytes: [UInt8], node: Int)] = []
        var parameter: Int?
        var leaf: Leaf?
        var rest: Leaf?
    }

    private var nodes: [Node] = [Node()]

    /// Builds the table. If two declarations conflict, throws `RouteError.conflict`, which names
    /// both.
    package init(
        _ routes: some Sequence<(method: Method, pattern: RoutePattern, value: Value)>
    ) throws(RouteError) {
        for route in routes { try add(route.method, route.pattern, route.value) }
    }

    private mutating func add(
        _ method: Method, _ pattern: RoutePattern, _ value: Value
    ) throws(RouteError) {
        var at = 0
        var takesRest = false
        for segment in pattern.segments {
            switch segment {
            case .literal(let text): at = child(of: at, literal: Array(text.utf8))
            case .parameter: at = parameterChild(of: at)
            case .rest: takesRest = true
            }
        }
        let existing = takesRest ? nodes[at].rest : nodes[at].leaf
        var leaf = existing ?? Leaf(pattern: pattern, values: [])
        if leaf.pattern != pattern || leaf.values.contains(where: { $0.method == method }) {
            let other = leaf.values.first { $0.method == method } ?? leaf.values.first
            throw .conflict(
                "\(other?.method.rawValue ?? "") \(leaf.pattern)", "\(method.rawValue) \(pattern)")
        }
        leaf.values.append((method, value))
        if takesRest { nodes[at].rest = leaf } else { nodes[at].leaf = leaf }
    }

    private mutating func child(of parent: Int, literal: [UInt8]) -> Int {
        if let found = nodes[parent].literals.first(where: { $0.bytes == literal }) {
            return found.node
        }
        nodes.append(Node())
        nodes[parent].literals.append((literal, nodes.count - 1))
        return nodes.count - 1
    }

    private mutating func parameterChild(of parent: Int) -> Int {
        if let found = nodes[parent].parameter { return found }
        nodes.append(Node())
        nodes[parent].parameter = nodes.count - 1
        return nodes.count - 1
    }

    /// Returns the route of `path`, which is the path as sent, without the query. Returns `nil` if
    /// no route matches, or if a parameter has bad percent-encoding.
    package func match(_ path: String) -> RouteMatch<Value>? {
        var path = path
        return path.withUTF8 { bytes in
            guard bytes.first == UInt8(ascii: "/") else { return nil }
            var values: [Range<Int>] = []
            guard let leaf = find(in: bytes, from: 1, at: 0, &values) else { return nil }
            var parameters = RouteParameters()
            for (index, segment) in zip(0..., leaf.pattern.segments.filter(\.isParameter)) {
                guard let value = segment.value(of: bytes[values[index]]) else { return nil }
                parameters.append(segment.name, value)
            }
            return RouteMatch(pattern: leaf.pattern, parameters: parameters, values: leaf.values)
        }
    }

    /// Searches the trie recursively. The recursion is never deeper than the longest pattern, so a
    /// long path does not need more stack.
    private func find(
        in path: UnsafeBufferPointer<UInt8>, from start: Int, at node: Int,
        _ values: inout [Range<Int>]
    ) -> Leaf? {
        if start >= path.count, node == 0 || start > path.count { return nodes[node].leaf }
        var end = start
        while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
        let segment = path[start..<end]
        for literal in nodes[node].literals where literal.bytes.elementsEqual(segment) {
            if let leaf = find(in: path, from: end + 1, at: literal.node, &values) { return leaf }
        }
        if let next = nodes[node].parameter, !segment.isEmpty {
            values.append(start..<end)
            if let leaf = find(in: path, from: end + 1, at: next, &values) { return leaf }
            values.removeLast()
        }
        if let rest = nodes[node].rest {
            values.append(start..<path.count)
            return rest
        }
        return nil
    }
}

extension RoutePattern.Segment {
    fileprivate var isParameter: Bool { if case .literal = self { false } else { true } }

    fileprivate var name: String {
        switch self {
        case .literal(let name), .parameter(let name), .rest(let name): name
        }
    }

    /// Decodes a parameter's bytes. A parameter that takes the rest of the path keeps its slashes,
    /// and each of its segments is checked as strictly as any other parameter.
    fileprivate func value(of bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        guard case .rest = self else { return decodedSegment(bytes) }
        var parts: [String] = []
        for part in bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            if part.isEmpty {
                parts.append("")
            } else if let decoded = decodedSegment(part) {
                parts.append(decoded)
            } else {
                return nil
            }
        }
        return parts.joined(separator: "/")
    }
}

/// The pattern of a path, such as `/v1/tenants/{tenant}/users/{id}`. Each segment is a literal or a
/// parameter `{name}`. The last one may be `{name...}`, which takes the rest of the path.
///
///     pattern = "/" [ segment *( "/" segment ) ]
///     segment = literal / "{" name "}" / "{" name "...}" (last only)
///     literal = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" )   name = 1*( a-z / "_" )
package struct RoutePattern: Sendable, Hashable, CustomStringConvertible {
    enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
        case rest(String)
    }

    package let description: String
    let segments: [Segment]

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

    /// The names of the parameters, in the order of the path.
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

/// A fault in the declared routes. It is found when the table is built, never while serving.
package enum RouteError: Error, Equatable, CustomStringConvertible {
    case malformed(String)
    /// Two declarations match the same requests, or give the parameters of one path different
    /// names.
    case conflict(String, String)

    package var description: String {
        switch self {
        case .malformed(let text): "route pattern '\(text)' is malformed"
        case .conflict(let first, let second): "route '\(second)' conflicts with '\(first)'"
        }
    }
}

/// The route of a path: its pattern, the values of its parameters, and a value for each method.
package struct RouteMatch<Value: Sendable>: Sendable {
    package let pattern: RoutePattern
    package let parameters: RouteParameters
    let values: [(method: Method, value: Value)]

    /// Returns the value for a method. The value for GET also serves HEAD, unless HEAD is declared
    /// itself (RFC 9110 §9.3.2).
    package func value(for method: Method) -> Value? {
        if let found = values.first(where: { $0.method == method }) { return found.value }
        return method == .head ? value(for: .get) : nil
    }

    /// The methods for the field `Allow`, in a fixed order: the declared methods, HEAD if GET is
    /// declared, and OPTIONS.
    package var allowed: [Method] {
        Method.allCases.filter { $0 == .options || value(for: $0) != nil }
    }
}

/// The percent-decoded values of a path's parameters, by the names that the pattern gives them.
package struct RouteParameters: Sendable, Equatable {
    private var pairs: [Pair] = []

    private struct Pair: Sendable, Equatable {
        var name: String
        var value: String
    }

    package init() {}

    mutating func append(_ name: String, _ value: String) {
        pairs.append(Pair(name: name, value: value))
    }

    /// Returns a copy in which one parameter has another value.
    package func replacing(_ name: String, with value: String) -> RouteParameters {
        var copy = self
        for index in copy.pairs.indices where copy.pairs[index].name == name {
            copy.pairs[index].value = value
        }
        return copy
    }

    package subscript(name: String) -> String? {
        pairs.first { $0.name == name }?.value
    }

    package var all: [(name: String, value: String)] { pairs.map { ($0.name, $0.value) } }
}

/// Decodes one percent-encoded path segment strictly (RFC 3986 §2.1). Returns `nil` for a bad
/// escape, text that is not UTF-8, a control character, an encoded `/`, and the segments `.` and
/// `..`, which could be taken for another path.
func decodedSegment(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
    guard let decoded = PercentEncoding.decode(bytes), !decoded.isEmpty,
        decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }),
        decoded != [0x2E], decoded != [0x2E, 0x2E]
    else { return nil }
    return String(validating: decoded, as: UTF8.self)
}
