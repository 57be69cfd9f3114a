import Domain
import HTTP
import Testing
import Text

@testable import API

/// What an endpoint's declaration asks of a credential before its handler is reached.
struct AccessTests {
    private let tenant = UUID.random()
    private let owner = CallerPrincipal(
        .operator(id: .random(), role: .owner, tenant: nil))

    private func refusal(_ who: CallerPrincipal, _ access: Access, atTenant: Bool) -> Problem? {
        access.refusal(who, in: atTenant ? tenant : nil)
    }

    private func own(_ role: Operator.Role) -> CallerPrincipal {
        CallerPrincipal(.operator(id: .random(), role: role, tenant: tenant))
    }

    @Test(arguments: Right.allCases.filter(\.isPlatformOnly))
    func `a right of the platform is asked at a tenant too`(right: Right) {
        let access = Access.right(right)
        #expect(refusal(own(.owner), access, atTenant: true)?.status == 403)
        #expect(refusal(own(.auditor), access, atTenant: true)?.status == 403)
        #expect(refusal(owner, access, atTenant: true) == nil)
        #expect(refusal(owner, access, atTenant: false) == nil)
    }

    @Test func `one of several rights is enough, and an empty list refuses everyone`() {
        let both = Access.anyOf([.deleteTenant, .purgeTenant])
        let admin = CallerPrincipal(.operator(id: .random(), role: .admin, tenant: nil))
        #expect(refusal(owner, both, atTenant: true) == nil)
        #expect(refusal(admin, both, atTenant: true) == nil)
        #expect(refusal(own(.owner), both, atTenant: true) == nil)
        #expect(refusal(own(.admin), both, atTenant: true)?.status == 403)
        #expect(refusal(owner, .anyOf([]), atTenant: true)?.status == 403)
    }
}
