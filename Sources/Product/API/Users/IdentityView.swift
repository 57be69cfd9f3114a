import Domain
import JSON
import Storage
import Text

/// A stored identity, or one of a list.
protocol IdentityView: JSONView {
    associatedtype Words: JSONText
    var id: UUID { get }
    var provider: Words { get }
    var issuer: Words { get }
    var subject: Words { get }
    var email: Words? { get }
    var isEmailTrusted: Bool { get }
    var createdAt: Timestamp { get }
    var lastUsedAt: Timestamp? { get }
    var aliasCount: Int { get }
    var linkedByType: Words? { get }
    var linkedByID: Words? { get }
}

extension ListedIdentity: IdentityView {}

extension IdentityView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("provider", text: provider)
            $0.member("issuer", text: issuer)
            $0.member("subject", text: subject)
            $0.member("email", text: email)
            $0.member("email_vouched", isEmailTrusted)
            $0.member("alias_count", aliasCount)
            $0.member("created_at", createdAt)
            $0.member("last_used_at", lastUsedAt)
            if let type = linkedByType, let id = linkedByID {
                $0.object("linked_by") {
                    $0.member("type", text: type)
                    $0.member("id", text: id)
                }
            } else {
                $0.member("linked_by", JSONValue.null)
            }
        }
    }
}

extension IdentityRow: IdentityView {
    static let shape = ObjectShape(
        "Identity",
        [
            .readOnly("id", .uuid),
            FieldShape("provider", .enumeration(of: ProviderKind.self), "The provider's kind."),
            FieldShape(
                "issuer", .string(min: 1, max: 512, rule: .foreignID),
                "Of a Cognito pool its id, or `<pool>/<upstream>` for people of an upstream.",
                example: .string("https://accounts.google.com")),
            FieldShape(
                "subject", .string(min: 1, max: 255, rule: .foreignID),
                "The provider's own name of the person.",
                example: .string("110169484474386276334")),
            .nullable("email", .email, "As the provider told it last."),
            .readOnly("email_vouched", .bool, "Whether the provider proves the address."),
            .readOnly(
                "alias_count", .integer(0...Int.max),
                "How many of a pool's `sub`s are bound to it; a native name has one at most."),
            .readOnly("created_at", .timestamp),
            .readOnly("last_used_at", .timestamp, nullable: true),
            .readOnly(
                "linked_by",
                .object(
                    ObjectShape(
                        "LinkedBy", [.readOnly("type", .string()), .readOnly("id", .string())])),
                nullable: true, "The operator or key that linked it by hand."),
        ])
}
