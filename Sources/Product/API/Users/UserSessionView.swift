import JSON
import Storage
import Text

extension UserSessionRow {
    /// `current`: the calling session, if there is one.
    func write(to json: inout JSONWriter, current: UUID?) {
        json.object {
            $0.member("id", id)
            $0.member("user_id", user)
            $0.member("client", client)
            $0.member("device", deviceName)
            $0.member("created_at", createdAt)
            $0.member("last_seen_at", lastSeenAt)
            $0.member("ip", ip)
            $0.member("user_agent", userAgent)
            $0.member("current", id == current)
        }
    }

    static let shape = ObjectShape(
        "UserSession",
        [
            .readOnly("id", .uuid), .readOnly("user_id", .uuid),
            .readOnly("client", .string()), .readOnly("device", .string(), nullable: true),
            .readOnly("created_at", .timestamp), .readOnly("last_seen_at", .timestamp),
            .readOnly("ip", .string(), nullable: true),
            .readOnly("user_agent", .string(max: 1024), nullable: true),
            .readOnly("current", .bool, "Whether it is the one that asks."),
        ])
}
