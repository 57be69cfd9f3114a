import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// The keys of a user who waits, or is deleted.
@Suite(.cleansUp) struct OwnerDeletedTests {
    private static let path = "/v1/tenants/acme/api-keys"

    private func introspected(_ service: TestService, _ key: String) async throws -> Bool? {
        try await service.send(
            .post, "/oauth/introspect", json: "token=\(key)", as: .platformOwner,
            fields: [Field("content-type", "application/x-www-form-urlencoded")]
        ).json["active"]?.bool
    }

    @Test func `the key of a pending user says so`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        try await service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"x@a.example"}"#)
        let list = try await service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner)
        let user = try #require(list.json["items"]?.array?.first?["id"]?.string)
        let key = try await service.makeKey(
            #""smtp""#, #","owner":{"type":"user","id":"\#(user)"}"#)
        #expect(try await service.verdict(key.secret) == "user_pending")
        #expect(try await introspected(service, key.secret) == false)
        let me = try await service.send(.get, "/v1/me", as: key.credential)
        #expect(me.status == 401)
    }

    @Test func `a deleted user's keys are listed as revoked and come back on every replica`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        let user = try await service.makeUser(
            "ann@acme.example", name: "Ann", password: "correct horse battery", in: tenant)
        let owned = #","owner":{"type":"user","id":"\#(user.id)"}"#
        let key = try await service.makeKey(#""smtp""#, owned)
        let dead = try await service.makeKey(#""smtp""#, owned)
        try await service.manage(
            .post, "\(Self.path)/\(dead.id)/revoke", #"{"reason":"owner_deleted"}"#)
        let replica = try service.replica()
        func verdicts() async throws -> [String] {
            var found = [try await service.verdict(key.secret)]
            let there = try await service.send(
                .post, "/v1/api-keys/verify", json: #"{"key":"\#(key.secret)"}"#,
                as: .platformOwner, to: replica)
            found.append(there.json["code"]?.string ?? "valid")
            return found
        }
        func row(_ key: MadeKey) async throws -> TestAnswer {
            try await service.send(.get, "\(Self.path)/\(key.id)", as: .platformOwner)
        }
        let before = try await row(key)
        #expect(try await verdicts() == ["valid", "valid"])
        let person = "/v1/tenants/acme/users/\(user.id)"
        let deleted = try await service.send(.delete, person, as: .platformOwner)
        #expect(deleted.status == 204, "\(deleted.text)")
        #expect(try await verdicts() == ["user_deleted", "user_deleted"])
        #expect(try await introspected(service, key.secret) == false)
        let during = try await row(key)
        #expect(during.json["status"]?.string == "revoked", "\(during.text)")
        #expect(during.json["revocation_reason"]?.string == "owner_deleted")
        #expect(during.json["revoked_at"]?.string != nil)
        #expect(during.first("etag") != before.first("etag"))
        for (status, count) in [("revoked", 2), ("active", 0)] {
            let list = try await service.send(
                .get, "\(Self.path)?status=\(status)", as: .platformOwner)
            #expect(list.json["items"]?.array?.count == count, "\(status) \(list.text)")
        }
        let rotated = try await service.send(
            .post, "\(Self.path)/\(key.id)/rotate", json: "{}", as: .platformOwner)
        #expect(rotated.status == 409)

        try await service.manage(.post, person + "/restore", "{}")
        #expect(try await verdicts() == ["valid", "valid"])
        let after = try await row(key)
        #expect(after.json["status"]?.string == "active")
        #expect(after.json["revocation_reason"] == .null && after.json["revoked_at"] == .null)
        // What was revoked by itself stays so, whatever its reason says.
        #expect(try await service.verdict(dead.secret) == "revoked")
        #expect(try await row(dead).json["status"]?.string == "revoked")
    }

    @Test func `a key that is revoked while its owner is deleted does not come back`() async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        let user = try await service.makeUser(
            "ann@acme.example", name: "Ann", password: "correct horse battery", in: tenant)
        let key = try await service.makeKey(
            #""smtp""#, #","owner":{"type":"user","id":"\#(user.id)"}"#)
        let person = "/v1/tenants/acme/users/\(user.id)"
        _ = try await service.send(.delete, person, as: .platformOwner)
        try await service.manage(
            .post, "\(Self.path)/\(key.id)/revoke", #"{"reason":"leaked"}"#)
        try await service.manage(.post, person + "/restore", "{}")
        #expect(try await service.verdict(key.secret) == "revoked")
    }
}
