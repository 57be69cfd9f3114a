/// All routes: the endpoints of every resource, one line each.
package enum Routes {
    package static let all: [Endpoint] =
        SessionEndpoints.all
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
        + JoinLinkEndpoints.all
        + BounceEndpoint.all
        + JobEndpoints.all
        + BulkEndpoints.all
        + ImportEndpoint.all
}

extension JobKinds {
    /// Every job kind of the service, one line each.
    package static let all = JobKinds(
        BulkEndpoints.kinds
            + [InviteJobs(), ImportJob(), InactivityJob()])
}
