import Domain
import JSON
import Storage
import Text

extension JoinLinkRow {
    /// The link as `/v1` shows it; with a token, also its address, which is shown once.
    /// `providers`: how many its page offers.
    func write(
        to json: inout JSONWriter, at now: Timestamp, providers: Int, token: String? = nil,
        publicURL: String = "", maker: Timestamp? = nil
    ) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", link.tenantID)
            $0.member("role", UserRole.member.rawValue)
            $0.member("domains", link.domains)
            $0.member("max_uses", link.maxUses)
            $0.member("uses", link.uses)
            $0.member("status", link.status(at: now).rawValue)
            $0.member("providers", providers)
            $0.member("expires_at", link.expiresAt)
            if maker == link.expiresAt { $0.member("expires_at_reason", "maker") }
            $0.member("return_to", returnTo)
            $0.object("created_by") {
                $0.member("type", makerType)
                $0.member("id", makerID)
                $0.member("name", makerName)
            }
            $0.member("created_at", createdAt)
            // The token is in the fragment (`#`), so that no server's log has it.
            if let token { $0.member("url", "\(publicURL)/join#token=\(token)") }
        }
    }

    func json(
        at now: Timestamp, providers: Int, token: String? = nil, publicURL: String = "",
        maker: Timestamp? = nil
    ) -> JSONValue {
        .written {
            write(
                to: &$0, at: now, providers: providers, token: token, publicURL: publicURL,
                maker: maker)
        }
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "JoinLink",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid),
            .readOnly("role", .enumeration([UserRole.member.rawValue]), "Always `member`."),
            .optional(
                "domains", .array(of: .string(min: 1, max: 255, rule: .domain), max: 50),
                "Only addresses of these domains may use it; all, if there are none."),
            .optional(
                "max_uses", .integer(JoinLink.places), "How many users it may create; default 100."),
            .readOnly("uses", .integer(0...JoinLink.places.upperBound), "Users it has created."),
            .readOnly("status", .enumeration(of: JoinLink.Status.self)),
            .readOnly(
                "providers", .integer(0...Int.max),
                "Where people can sign in by it; while it is 0, a link cannot be used."),
            .optional("expires_at", .timestamp, "5 minutes to 90 days ahead; 7 days when absent."),
            ExpiryReason.field,
            ReturnAddress.field,
            .readOnly(
                "created_by",
                .object(
                    ObjectShape(
                        "JoinLinkMaker",
                        [
                            .readOnly("type", .string()), .readOnly("id", .string()),
                            .readOnly("name", .string()),
                        ]))),
            .readOnly("created_at", .timestamp),
        ])

    static let withURL = shape.adding(
        "JoinLinkWithURL", [.readOnly("url", .string(), "The link to hand over, shown once.")])

    static let creation = shape.creating("JoinLinkCreation", required: [])
}
