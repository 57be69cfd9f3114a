import Cryptography
import Domain
import JSON
import Outbound
import Synchronization
import Text

/// One finding of a provider's examination.
package struct ProviderFinding: Sendable, Equatable {
    package enum Check: String, Sendable, CaseIterable {
        /// The discovery document is reachable, valid, and of this issuer.
        case discovery
        /// The authorization and token endpoints.
        case endpoints
        /// The code flow with PKCE under S256.
        case flow
        /// Keys that can verify an id token.
        case keys
    }

    package var check: Check
    package var isGood: Bool
    package var detail: String

    package init(check: Check, isGood: Bool, detail: String) {
        self.check = check
        self.isGood = isGood
        self.detail = detail
    }
}

extension ProviderDocuments {
    /// Fetches everything anew and reports what would break a sign-in; caches nothing. nil while
    /// another provider of the same owner is examined.
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
        if Self.isComplete(metadata) {
            add(.discovery, true, "Not asked: every endpoint is set.")
        } else {
            do throws(FetchFailure) {
                let document = try await discovery(of: party, until: deadline)
                metadata = document.metadata
                add(.discovery, true, "\(party.discoveryURL) is this issuer's.")
                let fault = Self.flowFault(document.content)
                add(.flow, fault == nil, fault ?? "Code with PKCE (S256) is offered.")
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
                ? "All are known."
                : "Neither published nor set: \(missing.joined(separator: ", ")).")
        if let url = metadata.endpoints[.keys] {
            do throws(FetchFailure) {
                let keys = KeySet(try await get(url, for: party, until: deadline))
                let count = keys?.count ?? 0
                add(
                    .keys, count > 0,
                    keys == nil
                        ? "\(url) is no key set (RFC 7517)."
                        : count > 0
                            ? "\(count) that can check an id token."
                            : "\(url) has no RSA key of 2048 bits or more and no P-256 key to sign."
                )
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
        guard let content = try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 16)),
            content.members != nil
        else { throw FetchFailure(reason: "\(url) is no JSON object.") }
        guard let issuer = content["issuer"]?.string else {
            throw FetchFailure(reason: "\(url) names no issuer.")
        }
        guard let metadata = ProviderMetadata(bytes, of: party) else {
            throw FetchFailure(
                reason: "\(url) is the document of \(issuer.prefix(200)): register that issuer, "
                    + "byte by byte.")
        }
        return Discovery(metadata: metadata, content: content)
    }

    /// An absent member counts as offered (OpenID Connect Discovery section 3).
    private static func flowFault(_ content: JSONValue) -> String? {
        func lacks(_ name: String, _ value: String) -> Bool {
            content[name]?.array.map { all in
                !all.contains { $0.string.map { sameBytes($0, value) } ?? false }
            } ?? false
        }
        if lacks("response_types_supported", "code") { return "It does not offer the code flow." }
        if lacks("code_challenge_methods_supported", "S256") {
            return "It does not offer PKCE with S256."
        }
        let algorithms = content["id_token_signing_alg_values_supported"]?.array
        let known = ["RS256", "ES256"]
        guard let algorithms else { return nil }
        let fits = algorithms.contains { item in
            known.contains { name in item.string.map { sameBytes($0, name) } ?? false }
        }
        return fits ? nil : "It signs id tokens neither with RS256 nor with ES256."
    }
}
