import Storage
import Text

/// `return_to`: where the page of a link leads in the end. It is one of the redirect addresses of
/// the tenant's clients, byte for byte, so that no link of ours leads to a stranger's page.
enum ReturnAddress {
    static let field = FieldShape.nullable(
        "return_to", .string(min: 1, max: 2048, rule: RedirectURI.rule),
        "Where the page leads in the end: one of the `redirect_uris` of the tenant's clients.")

    /// Shown to the person at the end.
    static let shown = FieldShape.readOnly(
        "return_to", .string(), nullable: true, "Where the person can go on; `null` is nowhere.")

    /// The addresses that the tenant's clients have; read only if an input has one.
    static func allowed(_ inputs: [Input], _ call: Call) async throws -> [String] {
        try await allowed(inputs, of: call.tenant.id, call.services)
    }

    /// `tenant` nil: none, so that no address is allowed.
    static func allowed(
        _ inputs: [Input], of tenant: UUID?, _ services: Services
    ) async throws -> [String] {
        guard let tenant, inputs.contains(where: { $0.optionalString("return_to") != nil }) else {
            return []
        }
        return try await services.database.scope(tenant).returnAddresses()
    }

    static func fault(
        _ input: Input, _ allowed: [String], at pointer: String = ""
    ) -> FieldError? {
        guard let wanted = input.optionalString("return_to"),
            !allowed.contains(where: { sameBytes($0, wanted) })
        else { return nil }
        return FieldError(
            pointer + "/return_to", .notAllowed,
            "must be one of the `redirect_uris` of the tenant's clients")
    }
}
