import API
import Domain
import Outbound
import TestSupport
import Testing
import Text

/// The try-out of a provider asks whatever address its owner gave, so each owner has one at a time.
@Suite(.cleansUp) struct ProviderExaminationTests {
    @Test func `an owner's second examination is refused while the first runs, another's goes on`()
        async throws
    {
        let good = try await TestProvider.start()
        let (asked, reached) = AsyncStream<Void>.makeStream()
        let stalling = ScriptedListener { connection in
            _ = connection.read(until: "\r\n\r\n")
            reached.yield()
            _ = connection.read(until: "never")
        }
        var policy = OutboundPolicy(allowsLoopback: true)
        policy.total = .seconds(3)
        let documents = ProviderDocuments(
            http: OutboundHTTP(policy: policy), clock: Timestamp.systemClock)
        func party(_ issuer: String, of owner: UUID?) -> RelyingParty {
            RelyingParty(
                provider: UUID.random(), kind: .oidc, issuer: issuer, clientID: "web", owner: owner)
        }
        let evil = UUID.random()
        let slow = party("http://127.0.0.1:\(stalling.port)", of: evil)
        async let first = documents.examine(slow)
        for await _ in asked { break }
        // Another provider of the same owner, were it as good as any.
        #expect(await documents.examine(party(good.issuer, of: evil)) == nil)
        for owner in [UUID.random(), nil] {
            let found = try #require(await documents.examine(party(good.issuer, of: owner)))
            let faults = found.filter { !$0.isGood }
            #expect(faults.isEmpty, "\(faults)")
        }
        let found = try #require(await first)
        let faults = found.filter { !$0.isGood }.map(\.check)
        #expect(faults.contains(.discovery))
        // The place is free again.
        #expect(await documents.examine(party(good.issuer, of: evil)) != nil)
    }
}
