import HTTP

/// All routes, as a trie over path segments; built once at start, then only read.
///
/// A literal precedes a parameter, and a parameter the rest of a path; if the literal leads to no
/// route the parameter is tried, so `/users/duplicates` and `/users/{id}/sessions` can coexist.
/// Literals are compared with the path's bytes as sent.
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

    /// Throws `RouteError.conflict` naming both declarations.
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

    /// The route of a path as sent (no query), or nil: no such path, or a parameter with bad
    /// percent-encoding.
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

    /// The depth is bounded by the longest pattern, so a long path costs no stack.
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

    /// The rest of a path keeps its slashes; each of its segments is held to the same strictness.
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
