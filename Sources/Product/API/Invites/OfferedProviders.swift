import JSON
import Storage
import Text

/// The providers that the page of an invite or a join link offers.
enum OfferedProviders {
    static let field = FieldShape.readOnly(
        "providers",
        .array(
            of: .object(
                ObjectShape([
                    .readOnly("id", .uuid), .readOnly("name", .string()),
                    .readOnly("kind", .string()),
                ]))), "Where the person can sign in.")

    static func member(of tenant: TenantRow, _ call: Call) async throws -> JSONValue.Member {
        let providers = try await call.services.database.offeredProviders(of: tenant.id)
        return .init(
            "providers",
            .array(
                providers.map {
                    .object([
                        .init("id", .string($0.id.description)),
                        .init("name", .string($0.name)), .init("kind", .string($0.kind)),
                    ])
                }))
    }
}
