import API
import Domain
import HTTP
import Storage

/// The broker that a DeepRecall app expects: it exchanges a provider's token for an access token of
/// ours. Its works, assets and annotations are not served here.
enum DeepRecall {
    static let contract = Contract(
        name: "deeprecall",
        providerKinds: ["google"],
        settings: [
            .optional(
                "replication_audience", .string(min: 1, max: 255),
                "Whom the replication token is for; `electric` when absent."),
            .optional(
                "replication_url", .string(min: 1, max: 2048),
                "Where the service is that replicates the person's data."),
            .optional("replication_source", .string(min: 1, max: 255), "Its source's id."),
        ],
        routes: DeepRecallExchange.routes + DeepRecallDevice.routes + DeepRecallAccount.routes
            + DeepRecallLinks.routes,
        encode: encode, explain: explain)

    /// `{"error": …}`, and a plain text for a page whose origin is not allowed.
    private static func encode(_ problem: Problem, _ request: Request) -> Response {
        guard request.method == .options else { return problem.plainError }
        var answer = Response(
            problem.status, type: "text/plain; charset=utf-8", Array(problem.detail.utf8))
        answer.fields += problem.fields
        return answer
    }

    private static func explain(_ refusal: SignInRefusal) -> Problem? {
        switch refusal {
        case .noCredential, .invalidToken, .invalidKey:
            Problem(.unauthorized, "Authentication required")
        case .notProved, .signedOut: Problem(.unauthorized, exchangeFailed)
        case .providerAway: away(exchangeFailed)
        default: nil
        }
    }

    static let exchangeFailed = "Token exchange failed"

    static func bad(_ text: String) -> Problem { Problem(.invalidRequest, text) }

    /// 503: the provider is unavailable.
    static func away(_ text: String) -> Problem {
        Problem(.unavailable, text, fields: [Field("retry-after", "5")])
    }

    /// The text, or nil if the member is absent, empty or not a text.
    static func text(_ input: Input, _ name: String) -> String? {
        input.optionalString(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The app's own id of its device: a UUID, or `mobile-` with numbers.
    static func isDevice(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
