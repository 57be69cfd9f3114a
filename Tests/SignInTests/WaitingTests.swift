import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

/// Whoever waits for approval, by whatever rule, reads the same at every entry point and contract.
@Suite(.serialized, .cleansUp) struct WaitingTests {
    /// What is read of each wait: the status, and the text without what differs by chance.
    private struct Told: Equatable {
        var status: Int
        var reason: String?
        var active: Int
        var waiting: Int
    }

    private enum Wait: CaseIterable { case policy, mode }

    private static func fixture(_ wait: Wait) async throws -> OneIdentityFixture {
        let fixture = try await OneIdentityFixture()
        let service = fixture.service
        switch wait {
        case .policy:
            let answer = try await service.send(
                .put, "/v1/tenants/acme/policy", json: #"{"sign_up":"approval"}"#,
                as: .platformOwner, fields: [Field("if-match", "*")])
            #expect(answer.status == 200, "\(answer.text)")
        case .mode:
            let domains = try await service.send(
                .get, "/v1/tenants/acme/domains", as: .platformOwner)
            let id = domains.json["items"]?.array?.first?["id"]?.string ?? ""
            try await service.manage(
                .patch, "/v1/tenants/acme/domains/\(id)", #"{"mode":"ask"}"#)
        }
        return fixture
    }

    private static func told(
        _ wait: Wait, again: Bool
    ) async throws -> [EntryPoint: Told] {
        let fixture = try await fixture(wait)
        var all: [EntryPoint: Told] = [:]
        for (number, entryPoint) in EntryPoint.allCases.enumerated() {
            let person = Somebody(expected: .domainMatched, name: "p\(number)")
            if again { _ = try await fixture.pass(person, .token) }
            let answer = try await fixture.pass(person, entryPoint)
            let users = "users WHERE email_key = \(person.email) AND status =" as SQL
            all[entryPoint] = Told(
                status: answer.status, reason: answer.json["reason"]?.string,
                active: try await fixture.count(users + " 'active'"),
                waiting: try await fixture.count(users + " 'pending'"))
        }
        #expect(try await fixture.count("sessions") == 0)
        #expect(try await fixture.count("api_keys") == 0)
        return all
    }

    @Test(arguments: [false, true])
    func
        `A1 D11 at every door a person waits in the same way, by the policy and by a domain's mode`(
            again: Bool
        ) async throws
    {
        let byPolicy = try await Self.told(.policy, again: again)
        let byMode = try await Self.told(.mode, again: again)
        for entryPoint in EntryPoint.allCases {
            #expect(byPolicy[entryPoint] == byMode[entryPoint], "\(entryPoint)")
            #expect(byMode[entryPoint]?.active == 0, "\(entryPoint)")
            // The workspace app's call links to what is there, and makes nobody.
            let waits = entryPoint == .thinkwork && !again ? 0 : 1
            #expect(byMode[entryPoint]?.waiting == waits, "\(entryPoint)")
        }
    }
}
