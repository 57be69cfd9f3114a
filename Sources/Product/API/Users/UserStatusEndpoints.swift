import Domain
import HTTP
import JSON
import Storage

/// The endpoints that change a user's status.
enum UserStatusEndpoints {
    static let all: [Endpoint] = [suspend, resume, restore, approve, decline]

    private static let suspend = verb(
        "suspend", "Refuses the user's sign-ins, sessions and keys at once.", .suspendUsers
    ) { change, row in try await change.suspendUser(row) }

    private static let resume = verb(
        "resume", "Ends a suspension.", .resumeUsers, givesControl: true
    ) { change, row in try await change.resumeUser(row) }

    private static let restore = verb(
        "restore", "Brings a deleted user back; after 30 days a `conflict`.", .restoreUsers,
        givesControl: true
    ) { change, row in try await change.restoreUser(row) }

    private static let approve = Endpoint(
        .post, UserEndpoints.path + "/{id}/approve", id: "approveUser", tag: "Users",
        summary: "Admits a person who asked to join and waits; a mail says so, with the reason.",
        access: .right(.approveUsers), body: .json(answer("UserApproval", "Welcome to the team.")),
        answers: [.ok(UserRow.shape)], problems: [.conflict], idempotent: true,
        exists: UserEndpoints.exists
    ) { call in
        let database = try call.services.database
        let reason = reason(call)
        return try await UserEndpoints.change(call) { change, row in
            try call.requireCover(of: row)
            try call.requireRecentSignIn(forAdmin: row)
            let approved = try await change.approveUser(row, reason: reason)
            if row.status == .pending, call.services.sendsMail {
                try await change.tellOfAnswer(
                    to: approved, .joinApproved, reason: reason, in: database)
            }
            return approved
        }
    }

    private static let decline = Endpoint(
        .post, UserEndpoints.path + "/{id}/decline", id: "declineUser", tag: "Users",
        summary: "Refuses a person who asked to join and waits; a mail says so, once, with the "
            + "reason. They may ask again after 30 days.",
        access: .right(.approveUsers),
        body: .json(answer("UserDecline", "We do not know you.")),
        answers: [.ok(UserRow.shape)], problems: [.conflict], idempotent: true,
        exists: UserEndpoints.exists
    ) { call in
        let database = try call.services.database
        let reason = reason(call)
        return try await UserEndpoints.change(call) { change, row in
            let declined = try await change.declineUser(row, reason: reason)
            if row.status == .pending, call.services.sendsMail {
                try await change.tellOfAnswer(
                    to: declined, .joinDeclined, reason: reason, in: database)
            }
            return declined
        }
    }

    private static func answer(_ name: String, _ example: String) -> ObjectShape {
        ObjectShape(
            name,
            [
                FieldShape(
                    "reason", .string(max: Change.answerReasonLimit), nullable: true,
                    "What the mail says to the person, as plain text.", example: .string(example))
            ])
    }

    private static func reason(_ call: Call) -> String? {
        call.input.optionalString("reason").flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func verb(
        _ name: String, _ summary: String, _ right: Right, givesControl: Bool = false,
        _ body: @escaping @Sendable (Change, UserRow) async throws -> UserRow
    ) -> Endpoint {
        Endpoint(
            .post, UserEndpoints.path + "/{id}/\(name)", id: "\(name)User", tag: "Users",
            summary: summary, access: .right(right), answers: [.ok(UserRow.shape)],
            problems: [.conflict, .emailTaken], idempotent: true, exists: UserEndpoints.exists
        ) { call in
            try await UserEndpoints.change(call) { change, row in
                if givesControl {
                    try call.requireCover(of: row)
                    try call.requireRecentSignIn(forAdmin: row)
                }
                return try await body(change, row)
            }
        }
    }
}
