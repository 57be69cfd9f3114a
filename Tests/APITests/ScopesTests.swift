import Domain
import HTTP
import JSON
import TestSupport
import Testing

@Test func `every management scope is listed with its rights, for any credential`() async throws {
    let service = try await TestService.make()
    let answer = try await service.send(.get, "/v1/scopes", as: .platformOwner)
    let items = answer.json["items"]?.array ?? []
    #expect(answer.status == 200)
    #expect(items.compactMap { $0["name"]?.string } == ManagementScope.allCases.map(\.rawValue))
    #expect(items.first?["rights"]?.array?.isEmpty == false)
    #expect(try await service.send(.get, "/v1/scopes").status == 401)
    await service.stop()
}
