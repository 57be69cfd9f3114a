import API

/// All endpoints that `/openapi.json` describes, one line for each resource.
package enum Routes {
    package static let all: [Endpoint] =
        SessionEndpoints.all
        + OperatorLogin.endpoints
        + MeEndpoints.all
        + PasskeyEndpoints.all
        + TenantEndpoints.all
        + LogoEndpoints.all
        + APIKeyEndpoints.all
        + ScopeEndpoints.all
        + CORSOriginEndpoints.all
        + AuditEndpoints.all
        + OperatorEndpoints.all
        + OperatorSignInEndpoints.all
        + SetupEndpoint.all
        + PasswordResetEndpoints.all
        + OverviewEndpoints.all
        + ProviderEndpoints.all
        + ProviderTestEndpoint.all
        + HookCredentialEndpoints.all
        + HookEndpoints.all
        + CognitoEndpoints.all
        + TokenSignInEndpoint.all
        + DecisionEndpoints.all
        + ResolveEndpoint.all
        + UserEndpoints.all
        + PeopleEndpoints.all
        + AttributeSchemaEndpoints.all
        + PolicyEndpoints.all
        + ClientEndpoints.all
        + FailedSignInEndpoints.all
        + DomainEndpoints.all
        + InviteEndpoints.all
        + [Joining.withInvite]
        + JoinLinkEndpoints.all
        + [Joining.withJoinLink]
        + BounceEndpoint.all
        + JobEndpoints.all
        + BulkEndpoints.all
        + ImportEndpoint.all
}
