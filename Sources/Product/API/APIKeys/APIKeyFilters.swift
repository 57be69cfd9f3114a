import Domain
import Storage
import Text

extension APIKeyFilter {
    /// The parameters of the list, which are also the members of an action's `filter`.
    static let parameters: [QueryParameter] = [
        QueryParameter(
            "q", .string(min: 1, max: 255),
            "Part of the name; under three characters the beginning of a word."),
        QueryParameter("status", .enumeration(of: APIKey.Status.self)),
        QueryParameter("environment", .enumeration(of: APIKeySecret.Environment.self)),
        QueryParameter("owner_user_id", .uuid),
        QueryParameter(
            "ends_within", .integer(1...365), "Only keys that work now and end in so many days."),
        QueryParameter(
            "given_before", .bool,
            "True: only keys whose scopes lead to an admin, from before that was asked of who gives "
                + "them, which are bound or given by one who does not cover an admin now."),
    ]

    /// Nil: nothing that the caller may see.
    init?(_ filter: ListFilter, _ call: Call, _ collection: APIKeyCollection) async throws {
        let input = filter.input
        self.init(
            status: input.optionalCase("status"),
            owner: try await APIKeyEndpoints.owner(in: input, of: call, collection),
            environment: input.optionalString("environment"), text: input.optionalString("q"))
        endsWithin = input.optionalInt("ends_within")
        if input.flag("given_before") {
            givenBeforeBut = try await call.services.database.coveringOperators()
        }
        let tenant = try collection.tenantID(call) ?? .platform
        guard try !collection.permits(call, .listKeys, owner: .tenant(tenant)) else { return }
        // A caller limited to their own keys gets no others, whatever the filter.
        let own = call.principal.user ?? call.principal.id ?? .platform
        if let asked = owner, asked != own { return nil }
        owner = own
    }
}
