import Text

/// The credential in whose name a job acts.
package struct JobMaker: Sendable, Equatable {
    /// `operator`, `key`, `user`, or `system` for a rule of the tenant itself.
    package var type: String
    package var id: String
    package var name: String
    /// The tenant that the credential belongs to; nil: the platform.
    package var home: UUID?

    /// The service, for a tenant's standing rule: it goes on when who published it leaves.
    package static let system = JobMaker(
        type: Actor.system.type, id: Actor.system.id, name: Actor.system.name, home: nil)

    package var isSystem: Bool { self == .system }

    package init(type: String, id: String, name: String, home: UUID?) {
        self.type = type
        self.id = id
        self.name = name
        self.home = home
    }

    var actor: Actor { Actor(type: type, id: id, name: name, requestID: "", ip: nil) }
}
