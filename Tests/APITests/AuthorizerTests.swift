import Domain
import HTTP
import Testing
import Text

@testable import API
@testable import Application

/// What an endpoint's declaration asks of a credential before its handler is reached.
struct AuthorizerTests {
    private let tenant = UUID.random()
    private let owner = Principal(kind: .operator, id: .random(), platform: true, role: "owner")

    private func refusal(_ who: API.Principal, _ access: Access, atTenant: Bool) -> Problem? {
        var call = Call(request: Request(.get, "/"), now: Timestamp(microseconds: 0))
        if atTenant { call.resolvedTenant = ResolvedTenant(id: tenant, slug: "acme") }
        return Authorizer.refusal(who, access, call)
    }

    private func own(_ role: String) -> API.Principal {
        Principal(kind: .operator, id: .random(), tenant: tenant, role: role)
    }

    @Test(arguments: Right.allCases.filter(\.isPlatformOnly))
    func `a right of the platform is asked at a tenant too`(right: Right) {
        let access = Access.right(right.rawValue)
        #expect(refusal(own("owner"), access, atTenant: true)?.status == 403)
        #expect(refusal(own("member"), access, atTenant: true)?.status == 403)
        #expect(refusal(owner, access, atTenant: true) == nil)
        #expect(refusal(owner, access, atTenant: false) == nil)
    }

    @Test func `where no right is asked nobody may`() {
        for name in ["", "readEverything", "tenants", "tenants:read "] {
            for access in [Access.right(name), .own(name), .platform(name)] {
                for isAtTenant in [true, false] {
                    #expect(
                        refusal(owner, access, atTenant: isAtTenant)?.status == 403,
                        "\(access) at a tenant: \(isAtTenant)")
                }
            }
        }
    }

    @Test func `of several rights one is enough, and of none nothing comes`() {
        let both = Access.anyOf([Right.deleteTenant.rawValue, Right.purgeTenant.rawValue])
        let admin = Principal(kind: .operator, id: .random(), platform: true, role: "admin")
        #expect(refusal(owner, both, atTenant: true) == nil)
        #expect(refusal(admin, both, atTenant: true) == nil)
        #expect(refusal(own("owner"), both, atTenant: true) == nil)
        #expect(refusal(own("admin"), both, atTenant: true)?.status == 403)
        #expect(refusal(owner, .anyOf([]), atTenant: true)?.status == 403)
        #expect(refusal(owner, .anyOf(["nothing"]), atTenant: true)?.status == 403)
    }

    /// Within a tenant a scope stands for the rights that can be had there.
    @Test func `a scope is asked without the rights of the platform`() {
        for scope in ManagementScope.allCases {
            let isThere = scope.rights.contains { !$0.isPlatformOnly }
            let refused = refusal(own("owner"), .right(scope.rawValue), atTenant: true)
            #expect((refused == nil) == isThere, "\(scope)")
        }
    }
}
