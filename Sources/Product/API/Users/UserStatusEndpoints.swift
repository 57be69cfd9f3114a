import Domain
import HTTP
import Storage

/// The endpoints that change a user's status.
enum UserStatusEndpoints {
    static let all: [Endpoint] = [suspend, resume, restore, approve]

    private static let suspend = verb(
        "suspend", "Refuses the user's sign-ins, sessions and keys at once.", .suspendUsers
    ) { change, row in try await change.suspendUser(row) }

    private static let resume = verb(
        "resume", "Ends a suspension.", .resumeUsers
    ) { change, row in try await change.resumeUser(row) }

    private static let restore = verb(
        "restore", "Brings a deleted user back; after 30 days a `conflict`.", .restoreUsers
    ) { change, row in try await change.restoreUser(row) }

    private static let approve = verb(
        "approve", "Lets somebody in who signed up and waits.", .approveUsers
    ) { change, row in try await change.approveUser(row) }

    private static func verb(
        _ name: String, _ summary: String, _ right: Right,
        _ body: @escaping @Sendable (Change, UserRow) async throws -> UserRow
    ) -> Endpoint {
        Endpoint(
            .post, UserEndpoints.path + "/{id}/\(name)", id: "\(name)User", tag: "Users",
            summary: summary, access: .right(right), answers: [.ok(UserRow.shape)],
            problems: [.conflict, .emailTaken], idempotent: true, exists: UserEndpoints.exists
        ) { call in
            try await UserEndpoints.change(call, body)
        }
    }
}
