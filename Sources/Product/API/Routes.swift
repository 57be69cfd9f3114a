/// The whole site map: every noun's endpoints, one line each.
package enum Routes {
    package static let all: [Endpoint] =
        SessionEndpoints.all
        + TenantEndpoints.all
        + ProviderEndpoints.all
        + HookEndpoints.all
        + CognitoEndpoints.all
        + DecisionEndpoints.all
        + PolicyEndpoints.all
        + DomainEndpoints.all
        + InviteEndpoints.all
}
