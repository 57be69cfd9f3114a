import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What asking about keys costs the database, for whom.
@Suite(.cleansUp) struct VerificationCostTests {
    /// While it runs nothing can be looked up among the keys.
    private func withKeysLocked(
        _ service: TestService, _ body: () async throws -> Void
    ) async throws {
        let administrator = service.database.client(as: service.database.administrator)
        try await administrator.transaction { transaction in
            try await transaction.query("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
            try await body()
        }
    }

    private func codes(_ answer: TestAnswer) -> [String] {
        (answer.json["results"]?.array ?? []).map { $0["code"]?.string ?? "valid" }
    }

    // The lock of a distributed table locks no shard.
    @Test(.onOneServer)
    func `a caller without the right and a tenant's caller for foreign keys cost no look-up`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        let other = try await service.makeTenant("other")
        let mine = try await service.makeKey(#""smtp""#)
        let body = #"{"keys":[{"key":"\#(mine.secret)"},{"key":"\#(mine.secret)"}]}"#
        let support = TestService.Credential.session(
            try await service.session(role: .support, tenant: tenant.id))
        let foreign = TestService.Credential.tenantAdmin(other)
        // Their sessions are known before.
        for who in [support, foreign] {
            #expect(try await service.send(.get, "/v1/me", as: who).status == 200)
        }
        try await withKeysLocked(service) {
            for who in [support, foreign] {
                let many = try await service.send(
                    .post, "/v1/api-keys/verify-batch", json: body, as: who)
                #expect(codes(many) == ["unknown", "unknown"], "\(many.text)")
                #expect(try await service.verdict(mine.secret, as: who) == "unknown")
            }
            // The lock is felt by who may ask.
            let asked = try await service.send(
                .post, "/v1/api-keys/verify", json: #"{"key":"\#(mine.secret)"}"#,
                as: .tenantAdmin(tenant))
            #expect(asked.status == 503, "\(asked.text)")
        }
        #expect(
            try await service.verdict(mine.secret, as: .tenantAdmin(tenant)) == "valid")
    }

    @Test func `one caller's batches are limited, and others have their own limit`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let keys = [
            try await service.makeKey(#""keys:verify""#),
            try await service.makeKey(#""keys:verify""#),
        ]
        let batches = service.composition.application.batches
        func verify(_ text: String, as key: MadeKey) async throws -> Int {
            try await service.send(
                .post, "/v1/api-keys/verify-batch", json: #"{"keys":[{"key":"\#(text)"}]}"#,
                as: .bearer(key.secret)
            ).status
        }
        var running = try (0..<batches.perKey).map { _ in try batches.enter(UUID(keys[0].id)) }
        #expect(running.count == 8)
        #expect(try await verify(keys[1].secret, as: keys[0]) == 429)
        // Without a look-up it costs nothing.
        #expect(try await verify("no key", as: keys[0]) == 200)
        #expect(try await verify(keys[0].secret, as: keys[1]) == 200)
        running.removeAll()
        #expect(try await verify(keys[1].secret, as: keys[0]) == 200)
    }

    @Test func `a batch longer than its window is answered whole, in its order`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let keys = [
            try await service.makeKey(#""smtp""#), try await service.makeKey(#""smtp""#),
        ]
        let locator = tenant.locator
        var asked = (0..<(Database.lookUpsAtOnce * 2)).compactMap { _ in
            APIKeySecret.make(environment: .live, locator: locator)?.text
        }
        asked[0] = keys[0].secret
        asked[asked.count - 1] = keys[1].secret
        let list = asked.map { #"{"key":"\#($0)"}"# }.joined(separator: ",")
        let answer = try await service.send(
            .post, "/v1/api-keys/verify-batch", json: #"{"keys":[\#(list)]}"#,
            as: .tenantAdmin(tenant))
        let found = codes(answer)
        #expect(found.count == asked.count)
        #expect(found.first == "valid" && found.last == "valid")
        #expect(found.dropFirst().dropLast().allSatisfy { $0 == "unknown" })
    }
}
