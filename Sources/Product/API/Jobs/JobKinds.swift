import Text

/// The kinds of jobs that a service knows.
package struct JobKinds: Sendable {
    private let kinds: [any JobKind]

    package init(_ kinds: [any JobKind]) { self.kinds = kinds }

    package var names: [String] { kinds.map(\.name) }

    /// Nil for a kind of another version of the service.
    package func named(_ name: String) -> (any JobKind)? {
        kinds.first { sameBytes($0.name, name) }
    }
}
