import Cryptography
import Domain
import Federation
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

    private struct Scene: Sendable {
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

    @Test func `documents are fetched once and kept`() async throws {
        let scene = try await Scene()
        for _ in 0..<5 { #expect(await scene.fault(scene.token()) == nil) }
        #expect(scene.fetches == 1)
        #expect(scene.provider.fetches(of: TestProvider.discoveryPath) == 1)
        scene.clock.pass(ProviderDocuments.freshness + 1)
        #expect(await scene.fault(scene.token()) == nil)
        #expect(scene.fetches == 2)
    }

    @Test func `all who come at once wait for one fetch`() async throws {
        let scene = try await Scene()
        let token = scene.token()
        await withTaskGroup(of: FederationFault?.self) { group in
            for _ in 0..<50 { group.addTask { await scene.fault(token) } }
            for await fault in group { #expect(fault == nil) }
        }
        #expect(scene.fetches == 1)
    }

    @Test func `unknown keys lead to one fetch a minute`() async throws {
        let scene = try await Scene()
        #expect(await scene.fault(scene.token()) == nil)
        let strangers = try (0..<20).map { _ in try SigningKey() }
        for key in strangers {
            #expect(await scene.fault(scene.token(key)) == .token(.keyUnknown))
        }
        #expect(scene.fetches == 1)
        scene.clock.pass(ProviderDocuments.leastInterval)
        for key in strangers {
            #expect(await scene.fault(scene.token(key)) == .token(.keyUnknown))
        }
        #expect(scene.fetches == 2)
        #expect(await scene.fault(scene.token()) == nil)
    }

    @Test func `a new key counts and an old one ends with the next fetch`() async throws {
        let scene = try await Scene()
        #expect(await scene.fault(scene.token()) == nil)
        let next = try SigningKey()
        scene.provider.publish(keys: [next.publicJWK()])
        scene.clock.pass(ProviderDocuments.leastInterval)
        #expect(await scene.fault(scene.token(next)) == nil)
        #expect(await scene.fault(scene.token()) == .token(.keyUnknown))
    }

    @Test func `a key that was replaced under its old id is fetched, once a minute at most`()
        async throws
    {
        let scene = try await Scene()
        #expect(await scene.fault(scene.token()) == nil)
        let next = try SigningKey()
        let kid = scene.provider.key.thumbprint
        scene.provider.publish(keys: [
            next.publicJWK().replacing("\"\(next.thumbprint)\"", with: "\"\(kid)\"")
        ])
        let token = TokenMint(
            issuer: scene.provider.issuer, clientID: "web", key: next, now: scene.clock.now
        ).token(header: ["kid": "\"\(kid)\""])
        for _ in 0..<5 { #expect(await scene.fault(token) == .token(.signatureInvalid)) }
        #expect(scene.fetches == 1)
        scene.clock.pass(ProviderDocuments.leastInterval)
        #expect(await scene.fault(token) == nil)
        #expect(scene.fetches == 2)
        // Who signs by no key of the provider's makes it be asked no oftener.
        for _ in 0..<5 {
            #expect(await scene.fault(scene.token()) == .token(.signatureInvalid))
        }
        #expect(scene.fetches == 2)
    }

    @Test func `a provider that is away is bridged for an hour, and no longer`() async throws {
        let scene = try await Scene()
        #expect(await scene.fault(scene.token()) == nil)
        scene.provider.set(TestProvider.keysPath, .init(status: 500, "{}"))
        scene.clock.pass(ProviderDocuments.freshness + 1)
        #expect(await scene.fault(scene.token()) == nil)
        scene.clock.pass(ProviderDocuments.lifetime)
        #expect(isUnavailable(await scene.fault(scene.token())))
        scene.provider.publish(keys: [scene.provider.key.publicJWK()])
        scene.clock.pass(ProviderDocuments.intervalAfterFailure)
        #expect(await scene.fault(scene.token()) == nil)
    }

    @Test func `documents that are none vouch for nobody`() async throws {
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
            let scene = try await Scene()
            scene.provider.set(path, page)
            #expect(isUnavailable(await scene.fault(scene.token())), "\(page.body.prefix(40))")
        }
    }

    @Test func `an issuer's documents never vouch for another issuer's tokens`() async throws {
        let scene = try await Scene()
        let token = TokenMint(
            issuer: "https://id.example", clientID: "web", key: scene.provider.key,
            now: scene.clock.now
        ).token()
        #expect(await scene.fault(token) == .token(.issuerMismatch))
    }
}
