import Domain
import HTTP
import Storage
import Text

/// `PATCH …/invites/{id}`: changes role, expiry, message or attributes of a pending invite.
enum InviteEditEndpoint {
    static let update = Endpoint(
        .patch, "/v1/tenants/{tenant}/invites/{id}", id: "updateInvite", tag: "Invites",
        summary:
            "Changes role, end, message or attributes (which it merges) of a pending invite; its "
            + "token stays. The user row that the invite made gets the role as well.",
        access: .right(.manageInvites), body: .json(change), answers: [.ok(InviteRow.shape)],
        problems: [.conflict], ifMatch: .honoured, exists: InviteEndpoints.exists
    ) { call in
        let id = try call.id()
        let database = try call.services.database
        let row = try await InviteAsking.answering {
            try await call.making { change in
                let row = try await change.lockInvite(id)
                try InviteEndpoints.requireRole(call, row.role)
                let next = try wanted(call, row)
                try InviteEndpoints.requireRole(call, next.role)
                try call.requireMatch(row.etag)
                return try await change.editInvite(row, to: next, in: database)
            }
        }
        return .ok(
            row.json(
                at: call.now, token: nil, publicURL: call.services.publicURL,
                maker: call.principal.subject.expiry), etag: row.etag)
    }

    /// The address and the external id are the person's; delivery and return are chosen when it is sent.
    private static let change: ObjectShape = {
        var shape = InviteRow.shape
        for index in shape.fields.indices
        where ["email", "delivery", "external_id", "return_to"].contains(where: {
            sameBytes($0, shape.fields[index].name)
        }) {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("InviteChange")
    }()

    /// Throws 422 for read-only members that differ and an expiry that is out of bounds; an
    /// unchanged expiry is not a change.
    private static func wanted(_ call: Call, _ row: InviteRow) throws -> InviteChange {
        let input = call.input
        try input.checkRepeated(against: row.json(at: call.now))
        // Responses have milliseconds, the row more: the value as shown is not a change.
        var end = input.optionalTimestamp("expires_at") ?? row.expiresAt
        if sameBytes(end.description, row.expiresAt.description) { end = row.expiresAt }
        if end != row.expiresAt, let fault = InviteAsking.endFault(end, call.now) {
            throw Problem.invalid([fault])
        }
        let role = input.optionalString("role").flatMap(UserRole.init) ?? row.role
        if end != row.expiresAt || role > row.role { end = call.principal.subject.cut(end) }
        return InviteChange(
            role: role, expiresAt: end,
            message: input.has("message") ? input.optionalString("message") : row.message,
            attributes: input.attributes(on: row.attributes))
    }
}
