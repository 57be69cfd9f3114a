import HTTP
import JSON
import TestSupport
import Testing

/// `/v1/tenants/{tenant}/clients/{client}`: what is read is changed under its version.
@Suite(.cleansUp) struct ClientSettingsTests {
    private static let path = "/v1/tenants/acme/clients/immich"

    @Test func `a client is read with the version under which it is changed`() async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        func put(_ json: String, _ match: String) async throws -> TestAnswer {
            try await service.send(
                .put, Self.path, json: json, as: .platformOwner, fields: [Field("if-match", match)])
        }
        let unset = try await service.send(.get, Self.path, as: .platformOwner)
        #expect(unset.status == 200 && unset.json["enabled"] == .bool(false))
        let first = try #require(unset.first("etag"))
        let unquoted = try await put(#"{"enabled":true}"#, "v1")
        #expect(unquoted.status == 412 && unquoted.text.contains("quotation marks"))
        #expect(try await put(#"{"enabled":true}"#, first).status == 200)
        let set = try await service.send(.get, Self.path, as: .platformOwner)
        #expect(set.json["enabled"] == .bool(true))
        #expect(try await put(set.text, first).status == 412)
        #expect(try await put(set.text, try #require(set.first("etag"))).status == 200)
        let unknown = try await service.send(
            .get, "/v1/tenants/acme/clients/none", as: .platformOwner)
        #expect(unknown.status == 404)
        let foreign = try await service.send(.get, Self.path, as: .tenantAdmin(other))
        #expect(foreign.status == 404)
    }
}
