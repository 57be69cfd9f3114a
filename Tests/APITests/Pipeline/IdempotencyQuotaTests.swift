import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// How many responses are stored for a credential, and what a retry gets while the first call runs.
@Suite(.cleansUp) struct IdempotencyQuotaTests {
    private static let path = "/v1/tenants/acme/users"

    private func post(
        _ service: TestService, _ email: String, _ key: String?,
        as who: TestService.Credential
    ) async throws -> TestAnswer {
        try await service.send(
            .post, Self.path, json: #"{"email":"\#(email)"}"#, as: who,
            fields: key.map { [Field("idempotency-key", $0)] } ?? [])
    }

    @Test(arguments: [
        "4, convert_to(repeat('x', \(IdempotencyQuota.bytes / 40)), 'UTF8')",
        "\(IdempotencyQuota.answers / 10), '\\x00'::bytea",
    ])
    func `a caller at the limit of stored responses gets an error, and retries still work`(
        held: String
    ) async throws {
        let clock = TestClock()
        let (service, _) = try await TestService.makeWithTenant(clock: clock)
        let key = try await service.makeKey(#""users:write""#)
        let other = try await service.makeKey(#""users:write""#)
        let first = try await post(service, "a@a.example", "one", as: key.credential)
        #expect(first.status == 201, "\(first.text)")
        let parts = held.split(separator: ",", maxSplits: 1)
        // In ten parts, each of which is quick.
        for part in 0..<10 {
            _ = try await service.storage.app.query(
                """
                INSERT INTO idempotency (tenant_id, principal, method, path, key_hash, body_hash,
                    answer, created_at)
                SELECT anchor.id, \("key \(key.id)"), 'POST', \("/\(part)"),
                    convert_to(n::text, 'UTF8'), '\\x00'::bytea, \(raw: String(parts[1])), \(clock.now)
                FROM \(SQL.anchor(of: .platform)), generate_series(1, \(raw: String(parts[0]))) AS n
                WHERE anchor.id = \(UUID.platform)
                """)
        }
        clock.advance(seconds: 61)
        let refused = try await post(service, "b@a.example", "two", as: key.credential)
        #expect(refused.status == 429, "\(refused.text)")
        #expect(refused.json["code"]?.string == "idempotency_quota")
        #expect(refused.first("retry-after") != nil)
        let again = try await post(service, "a@a.example", "one", as: key.credential)
        #expect(again.bytes == first.bytes && again.first("idempotent-replayed") == "true")
        #expect(try await post(service, "c@a.example", nil, as: key.credential).status == 201)
        #expect(
            try await post(service, "d@a.example", "two", as: other.credential).status == 201)
        // The claim that was refused is gone, and the key is good again after a day.
        clock.advance(seconds: 86_400)
        #expect(
            try await post(service, "b@a.example", "two", as: key.credential).status == 201)
    }

    @Test func `a retry while the first call runs has a code of its own`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let key = try await service.makeKey(#""users:write""#)
        _ = try await post(service, "a@a.example", "one", as: key.credential)
        _ = try await service.storage.app.query("UPDATE idempotency SET answer = NULL")
        let again = try await post(service, "a@a.example", "one", as: key.credential)
        #expect(again.status == 409 && again.first("retry-after") == "1", "\(again.text)")
        #expect(again.json["code"]?.string == "request_in_progress")
    }
}
