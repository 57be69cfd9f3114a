import Domain
import Storage
import Text

extension UserFilter {
    /// The parameters of the list, which are also the members of an action's `filter`.
    static let parameters: [QueryParameter] = [
        .search,
        QueryParameter("ids", .array(of: .uuid, max: 200), "Only these."),
        QueryParameter("status", .enumeration(of: User.Status.self)),
        QueryParameter("role", .enumeration(of: UserRole.self)),
        QueryParameter("provider", .enumeration(of: ProviderKind.self)),
        QueryParameter("external_id", .externalID, "Only the user with this id."),
        .attributes,
        QueryParameter("last_sign_in_since", .timestamp, "Not before."),
        QueryParameter("last_sign_in_until", .timestamp, "Before."),
        QueryParameter("never_signed_in", .bool, "Only those who never did."),
        QueryParameter("awaiting_approval", .bool, "Only those who asked to join and wait."),
    ]

    init(_ filter: ListFilter, _ call: Call) async throws {
        let input = filter.input
        self.init(
            text: input.optionalString("q"), status: input.optionalCase("status"),
            role: input.optionalCase("role"), provider: input.optionalString("provider"))
        if let ids = input.optionalStrings("ids")?.compactMap({ UUID($0) }) {
            self.ids = try await call.scope.survivors(of: ids)
        }
        externalID = input.optionalString("external_id")
        attributes = try await call.attributes(of: filter)
        signedInSince = input.optionalTimestamp("last_sign_in_since")
        signedInUntil = input.optionalTimestamp("last_sign_in_until")
        neverSignedIn = input.flag("never_signed_in")
        awaitingApproval = input.flag("awaiting_approval")
    }
}
