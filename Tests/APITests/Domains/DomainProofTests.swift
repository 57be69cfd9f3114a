import Gatehouse
import HTTP
import JSON
import Outbound
import Storage
import TestSupport
import Testing
import Text

/// A domain proved by its TXT record, at a real name server.
@Suite(.cleansUp) struct DomainProofTests {
    @Test func `the record proves the domain, and nothing else does`() async throws {
        let server = NameServer()
        var externalServices = ExternalServices()
        externalServices.nameServer = .init(
            address: try #require(IPAddress("127.0.0.1")), port: server.port)
        let service = try await TestService.make(externalServices: externalServices)
        try await service.makeTenant("acme")
        let made = try await service.send(
            .post, "/v1/tenants/acme/domains", json: #"{"domain":"example.com"}"#,
            as: .platformOwner)
        let id = try #require(made.json["id"]?.string)
        let name = try #require(made.json["verification"]?["record_name"]?.string)
        let value = try #require(made.json["verification"]?["record_value"]?.string)
        func verify() async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/tenants/acme/domains/\(id)/verify", json: #"{"method":"dns"}"#,
                as: .platformOwner)
        }
        let wrong: [NameServer.Reply] = [
            .records([]), .records(["v=spf1 -all", value + "x", value.uppercased() + " "]),
        ]
        #expect(try await verify().json["code"]?.string == "domain_unproved")
        for reply in wrong {
            server.set(name, reply)
            let answer = try await verify()
            #expect(answer.status == 422, "\(answer.text)")
        }
        server.set(name, .failure(2))
        let away = try await verify()
        #expect(away.status == 503, "\(away.text)")
        server.set(name, .records(["v=spf1 -all", value]))
        let proved = try await verify()
        #expect(proved.status == 200, "\(proved.text)")
        #expect(proved.json["status"]?.string == "verified")
    }
}
