import Cryptography
import Domain
import JSON
import Outbound
import Synchronization
import Text

/// One finding of a provider's examination.
package struct ProviderFinding: Sendable, Equatable {
    package enum Check: String, Sendable, CaseIterable {
        /// Whether the discovery document is reachable, valid and of the provider's issuer.
        case discovery
        /// Whether the provider's authorization and token endpoints are known.
        case endpoints
        /// Whether the provider offers the code flow with PKCE (S256).
        case flow
        /// Whether the provider has keys that can verify an id token.
        case keys
        /// Which algorithms the provider signs id tokens with, if it publishes them.
        case algorithms
    }

    package var check: Check
    package var isGood: Bool
    var detail: String
}

extension ProviderDocuments {
    /// Fetches the provider's documents again, without caching them, and reports what would break a
    /// sign-in. Returns `nil` while a provider of the same owner is being examined.
    package func examine(_ party: RelyingParty) async -> [ProviderFinding]? {
        guard examined.withLock({ $0.insert(party.owner).inserted }) else { return nil }
        defer { examined.withLock { _ = $0.remove(party.owner) } }
        return await findings(party)
    }

    private func findings(_ party: RelyingParty) async -> [ProviderFinding] {
        let deadline = ContinuousClock.now + Self.fetchTime
        var findings: [ProviderFinding] = []
        func add(_ check: ProviderFinding.Check, _ isGood: Bool, _ detail: String) {
            findings.append(ProviderFinding(check: check, isGood: isGood, detail: detail))
        }
        var metadata = ProviderMetadata(overrides: party.endpoints)
        var published: [String]?
        if party.isApple { add(.flow, false, Self.apple) }
        if Self.isComplete(metadata) {
            add(.discovery, true, "Not fetched: all endpoints are set.")
        } else {
            do throws(FetchFailure) {
                let document = try await discovery(of: party, until: deadline)
                metadata = document.metadata
                add(.discovery, true, "\(party.discoveryURL) belongs to this issuer.")
                published = document.content["id_token_signing_alg_values_supported"]?.array?
                    .compactMap(\.string)
                if !party.isApple {
                    let fault = Self.flowFault(document.content)
                    add(
                        .flow, fault == nil, fault ?? "The code flow with PKCE (S256) is supported."
                    )
                }
            } catch {
                add(.discovery, false, error.reason)
            }
        }
        let missing = [RelyingParty.Endpoint.authorization, .token, .keys].filter {
            metadata.endpoints[$0] == nil
        }.map(\.rawValue)
        add(
            .endpoints, missing.isEmpty,
            missing.isEmpty
                ? "All endpoints are known."
                : "These are neither published nor set: \(missing.joined(separator: ", ")).")
        if let url = metadata.endpoints[.keys] {
            do throws(FetchFailure) {
                let keys = KeySet(try await get(url, for: party, until: deadline))
                let count = keys?.count ?? 0
                add(
                    .keys, count > 0,
                    keys == nil
                        ? "\(url) is not a key set (RFC 7517)."
                        : count > 0
                            ? "\(count) that can verify an id token."
                            : "\(url) has no key that can verify an id token: RSA of 2048 bits or "
                                + "more, P-256, P-384, P-521 or Ed25519."
                )
                if let keys, count > 0 {
                    let (isGood, detail) = Self.algorithms(published, keys)
                    add(.algorithms, isGood, detail)
                }
            } catch {
                add(.keys, false, error.reason)
            }
        }
        return findings
    }

    private struct Discovery {
        var metadata: ProviderMetadata
        var content: JSONValue
    }

    private func discovery(
        of party: RelyingParty, until deadline: ContinuousClock.Instant
    ) async throws(FetchFailure) -> Discovery {
        let url = party.discoveryURL
        let bytes = try await get(url, for: party, until: deadline)
        guard
            let content = (try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 16)))?
                .withoutNulls, content.members != nil
        else { throw FetchFailure(reason: "\(url) is not a JSON object.") }
        guard let issuer = content["issuer"]?.string else {
            throw FetchFailure(reason: "\(url) names no issuer.")
        }
        guard let metadata = ProviderMetadata(bytes, of: party) else {
            let shown = "\(url) is the document of \(issuer.prefix(200))"
            throw FetchFailure(
                reason: RelyingParty.isTemplate(issuer)
                    ? "\(shown), which stands for many directories: \(RelyingParty.templateAdvice)."
                    : "\(shown): register that issuer, byte by byte.")
        }
        return Discovery(metadata: metadata, content: content)
    }

    /// What the discovery document lacks for the code flow with PKCE; `nil` if it lacks nothing. An
    /// absent member counts as offered (OpenID Connect Discovery section 3).
    private static func flowFault(_ content: JSONValue) -> String? {
        func lacks(_ name: String, _ value: String) -> Bool {
            content[name]?.array.map { all in
                !all.contains { $0.string.map { sameBytes($0, value) } ?? false }
            } ?? false
        }
        if lacks("response_types_supported", "code") { return "It does not support the code flow." }
        if lacks("code_challenge_methods_supported", "S256") {
            return "It does not support PKCE with S256."
        }
        if lacks("response_modes_supported", "query") {
            return
                "It does not support `response_mode` query, which this server needs; form_post and "
                + "fragment are not supported here."
        }
        return nil
    }

    private static let apple =
        "Apple answers with form_post if a name or an address is requested, which this server does "
        + "not support: a sign-in in the browser fails. Id tokens that an app brings itself are "
        + "verified."

    /// The finding about signature algorithms. It lists the published algorithms, and states which
    /// of them the provider's keys can verify.
    private static func algorithms(
        _ published: [String]?, _ keys: KeySet
    ) -> (isGood: Bool, detail: String) {
        let checked = keys.algorithms.map(\.rawValue)
        let unknown = "Only a sign-in shows which of them this client's tokens are signed with."
        guard let published, !published.isEmpty else {
            return (
                true,
                "It does not publish how it signs id tokens; its keys can verify \(list(checked)). "
                    + "\(unknown)"
            )
        }
        let fitting = published.filter { name in checked.contains { sameBytes($0, name) } }
        let others = published.filter { name in !fitting.contains { sameBytes($0, name) } }
        guard !fitting.isEmpty else {
            return (
                false,
                "It publishes that it signs id tokens with \(list(published)); its keys can verify "
                    + "only \(list(checked))."
            )
        }
        var text = "It publishes that it signs id tokens with \(list(published)); "
        text +=
            others.isEmpty
            ? "its keys can verify all of them."
            : "its keys can verify \(list(fitting)). A token signed with \(list(others)) is "
                + "refused."
        return (true, published.count == 1 ? text : "\(text) \(unknown)")
    }

    private static func list(_ names: [String]) -> String {
        names.prefix(12).map { String($0.prefix(32)) }.joined(separator: ", ")
    }
}
