import Domain
import HTTP
import JSON
import TestSupport
import Testing

@Test(.cleansUp) func `every management scope is listed with its rights, for everyone`()
    async throws
{
    let service = try await TestService.make()
    let answer = try await service.send(.get, "/v1/scopes", as: .platformOwner)
    let items = answer.json["items"]?.array ?? []
    #expect(answer.status == 200)
    #expect(items.compactMap { $0["name"]?.string } == ManagementScope.allCases.map(\.rawValue))
    #expect(items.first?["rights"]?.array?.isEmpty == false)
    #expect(try await service.send(.get, "/v1/scopes").bytes == answer.bytes)
    #expect(items.allSatisfy { $0["summary"]?.string?.isEmpty == false })
}
