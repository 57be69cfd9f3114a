import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/providers/{id}/test`: tests a provider's setup before users need it.
package enum ProviderTestEndpoint {
    package static let all: [Endpoint] = [test]

    private static let finding = ObjectShape(
        "ProviderFinding",
        [
            .readOnly(
                "check", .enumeration(of: ProviderFinding.Check.self),
                "What was checked. `discovery`: that the discovery document, if it is needed, can "
                    + "be fetched and is the issuer's. `endpoints`: that the endpoints are known "
                    + "and, for GitHub, that the client secret is stored. `flow`: that the "
                    + "provider offers the code flow with PKCE. `keys`: that it has keys that can "
                    + "verify an id token. `algorithms`: that its keys fit the algorithms that it "
                    + "signs with."),
            .readOnly("ok", .bool, "Whether the check found no fault."),
            .readOnly("detail", .string(), "The result of the check, for an operator."),
        ])

    private static let shape = ObjectShape(
        "ProviderTest",
        [
            .readOnly(
                "ok", .bool,
                "Whether people can sign in at the provider, as far as this server can check."),
            .readOnly(
                "findings", .array(of: .object(finding), max: 10),
                "One finding for each check that was possible."),
        ])

    private static let test = Endpoint(
        .post, "/v1/providers/{id}/test", id: "testProvider", tag: "Providers",
        summary: "Fetches the provider's discovery document and keys, and reports what is wrong. "
            + "Nothing is changed or stored. While another test runs, the response can be 429.",
        access: .right(.writeProviders), answers: [.ok(shape)], problems: [.rateLimited],
        exists: ProviderEndpoints.exists
    ) { call in
        let provider = try await call.ownProvider
        let findings = try await findings(provider, call)
        return .ok(
            .object([
                .init("ok", .bool(findings.allSatisfy(\.isGood))),
                .init("findings", .array(findings.map(json))),
            ]))
    }

    private static func findings(
        _ provider: ProviderRow, _ call: Call
    ) async throws -> [ProviderFinding] {
        guard let party = provider.relyingParty else { return [] }
        guard party.kind != .github else {
            return gitHub(party, hasSecret: provider.hasSecret)
        }
        guard let findings = await call.application.documents.examine(party) else {
            throw Problem.rateLimited(
                "Another provider is being tested; try again when that is done.", limit: 1,
                retryAfter: 5)
        }
        return findings
    }

    /// The findings for GitHub, which publishes no documents to examine. They report only where its
    /// secret and its tokens are sent.
    private static func gitHub(_ party: RelyingParty, hasSecret: Bool) -> [ProviderFinding] {
        let missing = party.missingGitHubEndpoints.map(\.rawValue)
        let known = party.gitHubEndpoints
        let used = [RelyingParty.Endpoint.token, .userInfo, .tokenCheck].compactMap { known[$0] }
        var text =
            party.endpoints.isEmpty && sameBytes(party.issuer, "https://github.com")
            ? "GitHub's are built in."
            : "The secret and the tokens go to \(used.joined(separator: ", "))."
        if !missing.isEmpty { text = "Not set: \(missing.joined(separator: ", "))." }
        if !hasSecret {
            text +=
                " Without the client's secret, this server cannot check that tokens were issued to it."
        }
        return [
            ProviderFinding(
                check: .endpoints, isGood: hasSecret && missing.isEmpty, detail: text)
        ]
    }

    private static func json(_ finding: ProviderFinding) -> JSONValue {
        .object([
            .init("check", .string(finding.check.rawValue)), .init("ok", .bool(finding.isGood)),
            .init("detail", .string(finding.detail)),
        ])
    }
}
