import API
import Domain
import HTTP
import Storage
import Text

/// The part of Thinkwork's API about users: their status in the tenant, their sign-in options, and
/// invites. They sign in at a Cognito pool, and send the pool's id token bare.
enum ThinkWork {
    static let contract = Contract(
        name: "thinkwork",
        headers: [
            "x-tenant-id", "x-tenant-slug", "x-thinkwork-tenant-id", "x-thinkwork-tenant-slug",
            "x-api-key", "x-thinkwork-deployment-token",
        ],
        providerKinds: ["cognito"],
        settings: [
            .optional("password", .bool, "Whether the pool takes passwords; false when absent.")
        ],
        routes: ThinkWorkOptions.routes + ThinkWorkMe.routes + ThinkWorkSession.routes
            + ThinkWorkInvites.routes
            + ThinkWorkEnrollment.routes,
        encode: { problem, _ in problem.plainError }, explain: explain)

    private static func explain(_ refusal: SignInRefusal) -> Problem? {
        switch refusal {
        case .notProved, .invalidToken, .signedOut, .invalidKey:
            Problem(.unauthorized, "Unauthorized")
        default: nil
        }
    }
}

extension ClientCall {
    /// Refuses a request that names another tenant than its mount.
    func requireOwnTenant() throws {
        let names = ["x-tenant-id", "x-tenant-slug", "x-thinkwork-tenant-id"]
        let named =
            (names + ["x-thinkwork-tenant-slug"]).flatMap { request.all($0) }
            + [query("tenantId")].compactMap { $0 }
        guard named.allSatisfy({ $0.isEmpty || isOwnTenant($0) }) else {
            throw Problem.notFound("tenant")
        }
    }

    /// By id or by slug.
    func isOwnTenant(_ text: String) -> Bool {
        UUID(text) == tenant.id || sameBytes(text, tenant.slug)
    }
}
