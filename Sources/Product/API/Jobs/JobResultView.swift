import JSON
import Storage
import Text

extension JobResult: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("row", row)
            $0.member("status", status)
            $0.member("code", code)
            $0.member("detail", detail)
            $0.member("target_type", targetType)
            $0.member("target_id", targetID)
            $0.member("conflicting_id", conflictingID)
        }
    }

    static let shape = ObjectShape(
        "JobResult",
        [
            .readOnly("row", .integer(1...Int.max), "The row's number, from 1."),
            .readOnly("status", .enumeration(of: JobResult.Status.self)),
            .readOnly("code", .string(), nullable: true, "Why it failed or was kept."),
            .readOnly("detail", .string(), nullable: true),
            .readOnly("target_type", .string(), nullable: true, "`user`, `invite`, `api_key`."),
            .readOnly("target_id", .uuid, nullable: true, "The id of what it was done to."),
            .readOnly(
                "conflicting_id", .uuid, nullable: true,
                "Who is left, if it failed because the user was merged."),
        ])
}
