import JSON
import Text

/// What an undo of a merge ended: it was made as the winner since, maybe by the other person.
package struct EndedAccess: Sendable {
    /// Keys that were made or rotated since, and those that these made.
    package var keys: [UUID] = []
    package var sessions = 0
    package var linkGrants = 0
    package var passwordLinks = 0
    /// A change of the address that was not proved yet.
    package var emailChange = false
    package var password = false
    package var pin = false

    package init() {}

    init(_ document: JSONValue) {
        func count(_ name: String) -> Int { document[name]?.int ?? 0 }
        func flag(_ name: String) -> Bool { document[name]?.bool ?? false }
        keys = document["keys"]?.array?.compactMap { $0.string.flatMap { UUID($0) } } ?? []
        (sessions, linkGrants) = (count("sessions"), count("link_grants"))
        passwordLinks = count("password_links")
        (emailChange, password, pin) = (flag("email_change"), flag("password"), flag("pin"))
    }

    package var document: JSONValue {
        .object([
            .init("keys", .array(keys.map { .string($0.description) })),
            .init("sessions", .int(sessions)), .init("link_grants", .int(linkGrants)),
            .init("password_links", .int(passwordLinks)),
            .init("email_change", .bool(emailChange)), .init("password", .bool(password)),
            .init("pin", .bool(pin)),
        ])
    }
}
