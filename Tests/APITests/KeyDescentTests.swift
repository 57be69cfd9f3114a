import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A key is revoked together with all that it made.
@Suite(.cleansUp) struct KeyDescentTests {
    private static let path = "/v1/tenants/acme/api-keys"
    private static let making = #""api-keys:write","api-keys:read","smtp""#
    /// The platform has no catalogue.
    private static let granting = #""api-keys:write","api-keys:read""#

    private func revoke(
        _ service: TestService, _ key: MadeKey, at path: String = path,
        as who: TestService.Credential = .platformOwner, madeBy: Bool = true
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "\(path)/\(key.id)/revoke",
            json: #"{"reason":"leaked","made_by":\#(madeBy)}"#, as: who)
    }

    @Test func `all that a key made end with it, at any depth, on every replica`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let root = try await service.makeKey(Self.making)
        let child = try await service.makeKey(Self.making, as: root.credential)
        let heir = try await service.makeKey(#""smtp""#, as: child.credential)
        let other = try await service.makeKey(Self.making)
        let stranger = try await service.makeKey(#""smtp""#, as: other.credential)
        let replica = try service.replica()
        for key in [root, child, heir, stranger] {
            #expect(try await service.verdict(key.secret) == "valid")
            let there = try await service.send(
                .get, "/v1/me", as: key.credential, to: replica)
            #expect(there.status == 200)
        }
        let answer = try await revoke(service, root)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["status"]?.string == "revoked")
        for key in [root, child, heir] {
            #expect(try await service.verdict(key.secret) == "revoked")
            let there = try await service.send(
                .get, "/v1/me", as: key.credential, to: replica)
            #expect(there.status == 401)
            let row = try await service.send(
                .get, "\(Self.path)/\(key.id)", as: .platformOwner)
            #expect(row.json["revocation_reason"]?.string == "leaked")
        }
        for key in [other, stranger] {
            #expect(try await service.verdict(key.secret) == "valid")
        }
        let events = try await service.send(
            .get, "/v1/tenants/acme/audit-events?action=api_key.revoked", as: .platformOwner)
        #expect(events.json["items"]?.array?.count == 3)
        let again = try await revoke(service, root)
        #expect(again.json["revoked_at"] == answer.json["revoked_at"])
        #expect(again.first("etag") == answer.first("etag"))
    }

    @Test func `what a key made is still found when the key was revoked alone before`() async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let root = try await service.makeKey(Self.making)
        let heir = try await service.makeKey(#""smtp""#, as: root.credential)
        #expect(try await revoke(service, root, madeBy: false).status == 200)
        #expect(try await service.verdict(heir.secret) == "valid")
        #expect(try await revoke(service, root).status == 200)
        #expect(try await service.verdict(heir.secret) == "revoked")
    }

    @Test func `a key of the platform ends with what it made in every tenant`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        try await service.makeTenant("other")
        let root = try await service.makeKey(Self.granting, at: "/v1/api-keys")
        let second = try await service.makeKey(
            Self.granting, at: "/v1/api-keys", as: root.credential)
        let mine = try await service.makeKey(Self.making, as: root.credential)
        let heir = try await service.makeKey(#""smtp""#, as: mine.credential)
        let theirs = try await service.makeKey(
            #""smtp""#, at: "/v1/tenants/other/api-keys", as: second.credential)
        let alone = try await service.makeKey(#""smtp""#)
        let answer = try await revoke(service, root, at: "/v1/api-keys")
        #expect(answer.status == 200, "\(answer.text)")
        for key in [root, second, mine, heir, theirs] {
            #expect(try await service.verdict(key.secret) == "revoked")
        }
        #expect(try await service.verdict(alone.secret) == "valid")
        for tenant in ["acme", "other"] {
            let events = try await service.send(
                .get, "/v1/tenants/\(tenant)/audit-events?action=api_key.revoked",
                as: .platformOwner)
            #expect(events.json["items"]?.array?.isEmpty == false, "\(tenant)")
        }
    }

    @Test func `a call that was under way when its key was revoked makes no key`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let key = try await service.makeKey(Self.making)
        let id = try #require(UUID(key.id))
        let scope = service.storage.scope(tenant.id)
        // The revocation holds the key's row and is not committed when the call asks for it.
        async let made = service.send(
            .post, Self.path, json: #"{"name":"k","scopes":["smtp"]}"#, as: key.credential)
        try await scope.change(by: .system) { change in
            let row = try await change.lockAPIKey(id)
            while try await !service.database.waitsForLock() {
                if try await Self.isThere(service) { break }
            }
            _ = try await change.revokeWithMade(
                row, reason: nil, in: service.storage, permit: { _ in })
        }
        let answer = try await made
        let list = try await service.send(
            .get, "\(Self.path)?status=active", as: .platformOwner)
        #expect(answer.status == 401 || list.json["items"]?.array?.isEmpty == true)
        #expect(list.json["items"]?.array?.isEmpty == true, "\(list.text)")
    }

    /// Whether the call was quicker than the lock.
    private static func isThere(_ service: TestService) async throws -> Bool {
        let rows = try await service.storage.platform.read("SELECT count(*) FROM api_keys")
        return try rows.first?.get(0, as: Int.self) == 2
    }

    @Test func `a caller who may not revoke one of the keys revokes none`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let person = try await service.makeUser(
            "ann@acme.example", name: "Ann", role: .admin, password: "correct horse battery",
            in: tenant)
        let owned = #","owner":{"type":"user","id":"\#(person.id)"}"#
        let root = try await service.makeKey(Self.making, owned)
        let heir = try await service.makeKey(#""smtp""#, as: root.credential)
        try await service.manage(
            .patch, "/v1/tenants/acme/users/\(person.id)", #"{"role":"member"}"#)
        let refused = try await revoke(service, root, as: root.credential)
        #expect(refused.status == 403, "\(refused.text)")
        for key in [root, heir] { #expect(try await service.verdict(key.secret) == "valid") }
    }
}
