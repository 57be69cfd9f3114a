import Domain
import HTTP
import JSON
import TestSupport
import Testing
import Text

/// Join links as operators make them.
extension ProvisioningFixture {
    static let links = "/v1/tenants/acme/join-links"

    func made(
        _ body: String = "{}", as credential: TestService.Credential = .platformOwner
    ) async throws -> TestAnswer {
        try await service.send(.post, Self.links, json: body, as: credential)
    }

    /// A link's id and its token.
    func joinLink(_ body: String = "{}") async throws -> (id: String, token: String) {
        let answer = try await made(body)
        guard answer.status == 201, let id = answer.json["id"]?.string,
            let url = answer.json["url"]?.string,
            let token = url.split(separator: "#token=").last.map(String.init)
        else { throw Unexpected(text: answer.text) }
        return (id, token)
    }

    /// A sign-in at Google with a join link's token.
    func join(_ token: String, _ email: String, verified: Bool = true) async throws -> TestAnswer {
        try await google(email, email, verified: verified, more: #","join_token":"\#(token)""#)
    }

    /// What the server answers once it has time: with much to do it may ask to come again.
    func whenFree(_ ask: () async throws -> TestAnswer) async throws -> TestAnswer {
        var answer: TestAnswer
        repeat { answer = try await ask() } while answer.status == 503
        return answer
    }

    func revoke(_ link: String) async throws {
        let answer = try await whenFree {
            try await service.send(.post, "\(Self.links)/\(link)/revoke", as: .platformOwner)
        }
        #expect(answer.status == 200, "\(answer.text)")
    }

    func shown(_ link: String) async throws -> JSONValue {
        try await service.send(.get, "\(Self.links)/\(link)", as: .platformOwner).json
    }

    func uses(_ link: String) async throws -> Int { try await shown(link)["uses"]?.int ?? -1 }
}
