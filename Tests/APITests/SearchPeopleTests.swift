import API
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// The palette finds a person of any tenant by parts of an address or a name, for the platform alone.
@Suite(.cleansUp) struct SearchPeopleTests {
    private static func found(
        _ text: String, _ service: TestService, _ credential: TestService.Credential,
        in tenant: String? = nil
    ) async throws -> [JSONValue] {
        let place = tenant.map { "&tenant=\($0)" } ?? ""
        let answer = try await service.send(
            .get, "/v1/search?q=\(text)\(place)", as: credential)
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["items"]?.array ?? []).filter { $0["type"] == .string("user") }
    }

    @Test func `a person of another tenant is found, with that tenant's name`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        for (tenant, email, name) in [
            ("other", "katherine.jensen@mail.example", "Katherine Jensen"),
            ("acme", "kj@acme.example", "Kristin Jensen"),
        ] {
            let made = try await service.send(
                .post, "/v1/tenants/\(tenant)/users",
                json: #"{"email":"\#(email)","name":"\#(name)"}"#, as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
        }
        for text in ["therine.jen", "jensen%20KATHERINE", "Katherine%20mail"] {
            let people = try await Self.found(text, service, .platformOwner)
            #expect(people.map { $0["email"] } == [.string("katherine.jensen@mail.example")])
            #expect(people.first?["tenant_name"] == .string(other.name))
            #expect(people.first?["tenant_id"] == .string(other.id.description))
        }
        // In a tenant its own come first, and without its name.
        let both = try await Self.found("jensen", service, .platformOwner, in: "acme")
        #expect(both.map { $0["tenant_name"] } == [nil, .string(other.name)])
        // A wildcard is no wildcard here, and two letters are too few.
        for text in ["%25%25%25", "k_t", "ka", "j%20k"] {
            #expect(try await Self.found(text, service, .platformOwner).isEmpty, "\(text)")
        }
        #expect(try await Self.found("katherine", service, .tenantAdmin(acme)).isEmpty)
        #expect(try await Self.found("jensen", service, .tenantAdmin(acme)).count == 1)
        let id = try #require(
            try await Self.found("katherine", service, .platformOwner).first?["id"]?.string)
        _ = try await service.send(.delete, "/v1/tenants/other/users/\(id)", as: .platformOwner)
        #expect(try await Self.found("katherine", service, .platformOwner).isEmpty)
    }
}
