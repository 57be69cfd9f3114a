import Domain
import HTTP
import JSON
import Storage
import Text

extension MergeRow: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("winner", winner)
            $0.member("loser", loser)
            $0.member("status", status)
            $0.object("moved") {
                $0.member("identities", identities)
                $0.member("keys", keys.count)
                $0.member("invites", invites)
                $0.member("addresses", addresses + 1)
            }
            $0.member("left_identities", left)
            $0.member(
                "refused_scopes",
                .array(
                    keys.filter { !$0.refused.isEmpty }.map {
                        .object([
                            .init("key_id", .uuid($0.id)), .init("scopes", .strings($0.refused)),
                        ])
                    }))
            $0.member("ended", ended?.document ?? .null)
            $0.member("undo_until", undoUntil)
            $0.member("created_at", createdAt)
            $0.object("created_by") {
                $0.member("type", createdByType)
                $0.member("id", createdByID)
                $0.member("name", createdByName)
            }
        }
    }

    /// A merge changes once, when it is undone.
    var etag: String { ETag.version(status == .done ? 1 : 2) }

    private static let count = Kind.integer(0...Int.max)

    private static let endedShape = ObjectShape(
        "EndedAccess",
        [
            .readOnly(
                "keys", .array(of: .uuid),
                "Revoked: made or rotated since, by whomever, or made with such a key."),
            .readOnly("sessions", count, "Sessions of the winner."),
            .readOnly("link_grants", count, "Permissions to link a sign-in."),
            .readOnly("password_links", count, "Links to set a password."),
            .readOnly("email_change", .bool, "A change of the address that waited for its proof."),
            .readOnly(
                "password", .bool, "The winner's, which was set since; a reset sets another."),
            .readOnly("pin", .bool, "The winner's, which was set since."),
        ])

    static let shape = ObjectShape(
        "Merge",
        [
            .readOnly("id", .uuid), .readOnly("winner", .uuid, "The user who stays."),
            .readOnly("loser", .uuid, "The user whose id is read as the winner's."),
            .readOnly("status", .enumeration(of: MergeRow.Status.self)),
            .readOnly(
                "moved",
                .object(
                    ObjectShape([
                        .readOnly("identities", count, "Sign-ins."),
                        .readOnly("keys", count, "API keys."),
                        .readOnly("invites", count, "Accepted invites."),
                        .readOnly("addresses", count, "The loser's address and former ones."),
                    ])), "How much is the winner's now."),
            .readOnly(
                "left_identities", count,
                "Sign-ins that did not move: a password, and what was never proved."),
            .readOnly(
                "refused_scopes",
                .array(
                    of: .object(
                        ObjectShape([
                            .readOnly("key_id", .uuid, "A key that moved."),
                            .readOnly("scopes", .array(of: .string()), "What it lost."),
                        ]))), "Scopes that moved keys lost, as the winner's role is another."),
            .readOnly(
                "ended", .object(endedShape), nullable: true,
                "What the undo ended, as it was made as the winner since; null before it."),
            .readOnly("undo_until", .timestamp, "Until then it can be undone."),
            .readOnly("created_at", .timestamp),
            .readOnly(
                "created_by",
                .object(
                    ObjectShape(
                        "MergedBy",
                        [
                            .readOnly("type", .string()), .readOnly("id", .string()),
                            .readOnly("name", .string()),
                        ])), "Who merged them."),
        ])
}
