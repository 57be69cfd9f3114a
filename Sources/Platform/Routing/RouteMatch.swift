import HTTP

/// The route of a path: its pattern, the values of its parameters, and a value for each method.
package struct RouteMatch<Value: Sendable>: Sendable {
    package let pattern: RoutePattern
    package let parameters: RouteParameters
    let values: [(method: Method, value: Value)]

    /// GET answers HEAD unless HEAD is declared itself (RFC 9110 §9.3.2).
    package func value(for method: Method) -> Value? {
        if let found = values.first(where: { $0.method == method }) { return found.value }
        return method == .head ? value(for: .get) : nil
    }

    /// For `Allow`: the declared methods, HEAD beside GET, and OPTIONS, in a fixed order.
    package var allowed: [Method] {
        Method.allCases.filter { $0 == .options || value(for: $0) != nil }
    }
}

/// Percent-decoded values by the pattern's names.
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

    /// The same with another value of one parameter.
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
