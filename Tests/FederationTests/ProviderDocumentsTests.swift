import API
import Cryptography
import Domain
import Outbound
import Synchronization
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ProviderDocumentsTests {
    /// A clock that stands still until it is moved.
    private final class Clock: Sendable {
        private let time = Mutex(Timestamp(microseconds: 1_800_000_000_000_000))
        var now: Timestamp { time.withLock { $0 } }
        func pass(_ seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }
    }

    private struct Fixture: Sendable {
        let provider: TestProvider
        let clock = Clock()
        let documents: ProviderDocuments
        let party: RelyingParty

        init() async throws {
            let provider = try await TestProvider.start()
            let clock = clock
            self.provider = provider
            documents = ProviderDocuments(
                http: OutboundHTTP(policy: OutboundPolicy(allowsLoopback: true)),
                clock: { clock.now })
            party = RelyingParty(
                provider: UUID.random(), kind: .oidc, issuer: provider.issuer, clientID: "web")
        }

        func token(_ key: SigningKey? = nil) -> String {
            TokenMint(
                issuer: provider.issuer, clientID: "web", key: key ?? provider.key, now: clock.now
            ).token()
        }

        /// nil: accepted.
        func fault(_ text: String) async -> FederationFault? {
            do {
                let token = try IDToken(Array(text.utf8))
                _ = try await documents.claims(of: token, from: party)
                return nil
            } catch { return error as? FederationFault }
        }

        var fetches: Int { provider.fetches(of: TestProvider.keysPath) }
    }

    private func isUnavailable(_ fault: FederationFault?) -> Bool {
        if case .unavailable = fault { true } else { false }
    }

    @Test func `a provider that cannot be reached is known since the first failure`() async throws {
        let fixture = try await Fixture()
        #expect(fixture.documents.unreachable == [:])
        fixture.provider.set(TestProvider.keysPath, .init(status: 500, "{}"))
        let since = fixture.clock.now
        #expect(isUnavailable(await fixture.fault(fixture.token())))
        fixture.clock.pass(ProviderDocuments.intervalAfterFailure)
        #expect(isUnavailable(await fixture.fault(fixture.token())))
        #expect(fixture.documents.unreachable == [fixture.party.provider: since])
        fixture.provider.publish(keys: [fixture.provider.key.publicJWK()])
        fixture.clock.pass(ProviderDocuments.intervalAfterFailure)
        #expect(await fixture.fault(fixture.token()) == nil)
        #expect(fixture.documents.unreachable == [:])
    }

    @Test func `documents are fetched once and kept`() async throws {
        let fixture = try await Fixture()
        for _ in 0..<5 { #expect(await fixture.fault(fixture.token()) == nil) }
        #expect(fixture.fetches == 1)
        #expect(fixture.provider.fetches(of: TestProvider.discoveryPath) == 1)
        fixture.clock.pass(ProviderDocuments.freshness + 1)
        #expect(await fixture.fault(fixture.token()) == nil)
        #expect(fixture.fetches == 2)
    }

    @Test func `concurrent checks wait for one fetch`() async throws {
        let fixture = try await Fixture()
        let token = fixture.token()
        await withTaskGroup(of: FederationFault?.self) { group in
            for _ in 0..<50 { group.addTask { await fixture.fault(token) } }
            for await fault in group { #expect(fault == nil) }
        }
        #expect(fixture.fetches == 1)
    }

    @Test func `unknown keys lead to one fetch a minute`() async throws {
        let fixture = try await Fixture()
        #expect(await fixture.fault(fixture.token()) == nil)
        let strangers = try (0..<20).map { _ in try SigningKey() }
        for key in strangers {
            #expect(await fixture.fault(fixture.token(key)) == .token(.keyUnknown))
        }
        #expect(fixture.fetches == 1)
        fixture.clock.pass(ProviderDocuments.leastInterval)
        for key in strangers {
            #expect(await fixture.fault(fixture.token(key)) == .token(.keyUnknown))
        }
        #expect(fixture.fetches == 2)
        #expect(await fixture.fault(fixture.token()) == nil)
    }

    @Test func `a new key counts and an old one ends with the next fetch`() async throws {
        let fixture = try await Fixture()
        #expect(await fixture.fault(fixture.token()) == nil)
        let next = try SigningKey()
        fixture.provider.publish(keys: [next.publicJWK()])
        fixture.clock.pass(ProviderDocuments.leastInterval)
        #expect(await fixture.fault(fixture.token(next)) == nil)
        #expect(await fixture.fault(fixture.token()) == .token(.keyUnknown))
    }

    @Test func `a key that was replaced under its old id is fetched, once a minute at most`()
        async throws
    {
        let fixture = try await Fixture()
        #expect(await fixture.fault(fixture.token()) == nil)
        let next = try SigningKey()
        let kid = fixture.provider.key.thumbprint
        fixture.provider.publish(keys: [
            next.publicJWK().replacing("\"\(next.thumbprint)\"", with: "\"\(kid)\"")
        ])
        let token = TokenMint(
            issuer: fixture.provider.issuer, clientID: "web", key: next, now: fixture.clock.now
        ).token(header: ["kid": "\"\(kid)\""])
        for _ in 0..<5 { #expect(await fixture.fault(token) == .token(.signatureInvalid)) }
        #expect(fixture.fetches == 1)
        fixture.clock.pass(ProviderDocuments.leastInterval)
        #expect(await fixture.fault(token) == nil)
        #expect(fixture.fetches == 2)
        // Who signs by no key of the provider's makes it be asked no oftener.
        for _ in 0..<5 {
            #expect(await fixture.fault(fixture.token()) == .token(.signatureInvalid))
        }
        #expect(fixture.fetches == 2)
    }

    @Test func `a provider that is away is bridged for an hour, and no longer`() async throws {
        let fixture = try await Fixture()
        #expect(await fixture.fault(fixture.token()) == nil)
        fixture.provider.set(TestProvider.keysPath, .init(status: 500, "{}"))
        fixture.clock.pass(ProviderDocuments.freshness + 1)
        #expect(await fixture.fault(fixture.token()) == nil)
        fixture.clock.pass(ProviderDocuments.lifetime)
        #expect(isUnavailable(await fixture.fault(fixture.token())))
        fixture.provider.publish(keys: [fixture.provider.key.publicJWK()])
        fixture.clock.pass(ProviderDocuments.intervalAfterFailure)
        #expect(await fixture.fault(fixture.token()) == nil)
    }

    @Test func `invalid documents make the provider unavailable`() async throws {
        let keys = #"{"keys":[]}"#
        let pages: [(String, TestProvider.Page)] = [
            (TestProvider.discoveryPath, .init(status: 302, keys)),
            (TestProvider.discoveryPath, .init("not JSON")),
            (TestProvider.discoveryPath, .init(#"{"issuer":"https://other.example"}"#)),
            (TestProvider.keysPath, .init(status: 404, keys)),
            (TestProvider.keysPath, .init(#"{"keys":7}"#)),
            (TestProvider.keysPath, .init(String(repeating: " ", count: 300 * 1024))),
        ]
        for (path, page) in pages {
            let fixture = try await Fixture()
            fixture.provider.set(path, page)
            #expect(isUnavailable(await fixture.fault(fixture.token())), "\(page.body.prefix(40))")
        }
    }

    @Test func `an issuer's documents never vouch for another issuer's tokens`() async throws {
        let fixture = try await Fixture()
        let token = TokenMint(
            issuer: "https://id.example", clientID: "web", key: fixture.provider.key,
            now: fixture.clock.now
        ).token()
        #expect(await fixture.fault(token) == .token(.issuerMismatch))
    }
}
