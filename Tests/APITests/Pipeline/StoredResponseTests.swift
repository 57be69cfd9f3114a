import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.serialized, .cleansUp) struct StoredResponseTests {
    private let path = "/v1/tenants/acme/api-keys"
    private let body = #"{"name":"k","scopes":["smtp"]}"#
    private let key = [Field("idempotency-key", "one")]

    @Test func `a secret is answered again under the same key and cannot be read at rest`()
        async throws
    {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let first = try await service.send(
            .post, path, json: body, as: .platformOwner, fields: key)
        let second = try await service.send(
            .post, path, json: body, as: .platformOwner, fields: key)
        #expect(first.status == 201 && second.status == 201)
        #expect(first.bytes == second.bytes && second.first("idempotent-replayed") == "true")
        let list = try await service.send(.get, path, as: .platformOwner)
        #expect(list.json["items"]?.array?.count == 1)

        let other = try await service.send(
            .post, path, json: #"{"name":"x","scopes":["smtp"]}"#, as: .platformOwner, fields: key)
        #expect(other.status == 422 && other.json["code"]?.string == "idempotency_mismatch")

        let rows = try await service.storage.app.read("SELECT answer FROM idempotency")
        let kept = try #require(try rows.first?.get(0, as: [UInt8]?.self))
        let secret = try #require(first.json["key"]?.string)
        #expect(kept.first == 1 && !String(decoding: kept, as: UTF8.self).contains(secret))
    }

    @Test func `concurrent requests under one key run once`() async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let owner = TestService.Credential.session(
            try await service.session(role: .owner, tenant: nil))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await service.send(.post, path, json: body, as: owner, fields: key).status
                }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0 == 201 || $0 == 409 } && statuses.contains(201))
        let list = try await service.send(.get, path, as: owner)
        #expect(list.json["items"]?.array?.count == 1)
    }

    @Test func `a claim whose server is gone may be taken over, a kept answer ends after a day`()
        async throws
    {
        let service = try await TestService.make()
        let row = IdempotencyRow(
            tenant: .platform, principal: "key 1", method: "POST", path: "/x", keyHash: [1],
            bodyHash: [2], claim: .random())
        let storage = service.storage
        #expect(try await storage.claimIdempotency(row) == .fresh)
        #expect(try await storage.claimIdempotency(row) == .inProgress)
        _ = try await storage.app.query(
            "UPDATE idempotency SET created_at = now() - interval '1 hour'")
        #expect(try await storage.claimIdempotency(row) == .fresh)
        try await storage.storeResponse([9], of: row)
        #expect(try await storage.claimIdempotency(row) == .kept([9]))
        _ = try await storage.app.query(
            "UPDATE idempotency SET created_at = now() - interval '25 hours'")
        #expect(try await storage.claimIdempotency(row) == .fresh)
        try await storage.dropClaim(row)
        #expect(try await storage.claimIdempotency(row) == .fresh)
    }

    @Test(.onOneServer)
    func `a response is stored in the transaction of its change`() async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let made = try await service.send(
            .post, path, json: body, as: .platformOwner, fields: key)
        #expect(made.status == 201)
        let administrator = service.database.client(as: service.database.administrator)
        let rows = try await administrator.read(
            "SELECT i.xmin::text = k.xmin::text FROM idempotency AS i, api_keys AS k")
        #expect(rows.count == 1)
        #expect(try rows.first?.get(0, as: Bool.self) == true)
    }

    @Test func `a request that was taken over for dead changes nothing`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let storage = service.storage
        var late = IdempotencyRow(
            tenant: tenant.id, principal: "key 1", method: "POST", path: "/x", keyHash: [1],
            bodyHash: [2], claim: .random())
        #expect(try await storage.claimIdempotency(late) == .fresh)
        _ = try await storage.app.query(
            "UPDATE idempotency SET created_at = now() - interval '1 hour'")
        let change = HeldChange()
        try await HeldChange.$current.withValue(change) {
            try await storage.scope(tenant.id).change(by: .system) { change in
                try await change.audit(.tenantUpdated, AuditTarget("tenant", tenant.id, "late"))
            }
        }
        var next = late
        next.claim = .random()
        #expect(try await storage.claimIdempotency(next) == .fresh)
        await #expect(throws: StorageFailure.self) {
            try await storage.storeResponse([1], of: late, with: change)
        }
        try await storage.storeResponse([2], of: next)
        late.claim = .random()
        #expect(try await storage.claimIdempotency(late) == .kept([2]))
        let written = try await storage.platform.read(
            "SELECT 1 FROM audit_events WHERE action = 'probe'")
        #expect(written.isEmpty)
    }
}
