import API
import Cryptography
import Gatehouse
import JSON
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct KeyRotationTests {
    private final class Clock: Sendable {
        let now = Mutex(Timestamp(microseconds: 1_700_000_000_000_000))

        func pass(days: Double) {
            now.withLock { $0 = $0.adding(seconds: Int64(days * 86_400)) }
        }
    }

    private static func replica(
        _ service: TestService, _ clock: Clock, given: String? = nil
    ) throws -> AccessTokens {
        try AccessTokens(
            database: service.storage.with(clock: { clock.now.withLock { $0 } }),
            issuer: "https://id.example", signingKey: given)
    }

    private static func claims(_ clock: Clock) -> AccessTokenClaims {
        let now = clock.now.withLock { $0 }
        return AccessTokenClaims(
            user: .random(), tenant: .random(), session: .random(), tokenID: "j",
            client: "timetracker", issuedAt: now, expiresAt: now.adding(seconds: 30 * 86_400))
    }

    private static func names(_ tokens: AccessTokens) async throws -> [String] {
        let keys = try JSONValue(parsing: try await tokens.keySet())["keys"]?.array ?? []
        return keys.compactMap { $0["kid"]?.string }
    }

    private static func name(_ token: String) -> String? {
        JWS(compact: Array(token.utf8)).flatMap { try? JSONValue(parsing: $0.header) }?["kid"]?
            .string
    }

    @Test func `a key is followed by one that was published before, and its tokens stay good`()
        async throws
    {
        let service = try await TestService.make()
        let clock = Clock()
        let one = try Self.replica(service, clock)
        let other = try Self.replica(service, clock)
        let first = try await one.sign(Self.claims(clock))
        #expect(try await other.verify(first) != nil)
        #expect(try await Self.names(one) == [Self.name(first)])
        clock.pass(days: 29.5)
        let late = try await one.sign(Self.claims(clock))
        #expect(Self.name(late) == Self.name(first))
        let published = try await Self.names(other)
        #expect(published.count == 2)
        clock.pass(days: 0.4)
        #expect(try await other.verify(first) != nil)
        clock.pass(days: 0.2)
        let next = try await other.sign(Self.claims(clock))
        #expect(Self.name(next) == published.first && Self.name(next) != Self.name(first))
        #expect(try await one.verify(next) != nil)
        #expect(try await one.verify(late) != nil)
        // The first token itself has ended.
        #expect(try await one.verify(first) == nil)
    }

    @Test func `a given key signs, and replicas without it know its tokens`() async throws {
        let service = try await TestService.make()
        let clock = Clock()
        let key = try SigningKey()
        let given = try Self.replica(service, clock, given: try key.privatePEM())
        let other = try Self.replica(service, clock)
        let own = try await other.sign(Self.claims(clock))
        let token = try await given.sign(Self.claims(clock))
        #expect(Self.name(token) == key.thumbprint)
        #expect(try await other.verify(token) != nil)
        #expect(try await given.verify(own) != nil)
    }
}
