import Text

/// The credential in whose name a job acts.
package struct JobMaker: Sendable, Equatable {
    /// `operator`, `key` or `user`.
    package var type: String
    package var id: String
    package var name: String
    /// The tenant that the credential belongs to; nil: the platform.
    package var home: UUID?

    package init(type: String, id: String, name: String, home: UUID?) {
        self.type = type
        self.id = id
        self.name = name
        self.home = home
    }

    var actor: Actor { Actor(type: type, id: id, name: name, requestID: "", ip: nil) }
}
