import API
import Domain
import HTTP
import Storage
import Text

/// A person as asserted by a provider. The assertion was verified with the provider's keys, or by
/// asking the provider over TLS.
package struct ProvedPerson: Sendable {
    var provider: ProviderRow
    var subject: String
    var email: String?
    /// The provider's claim that the address is verified; `nil` if there is no such claim, which
    /// differs from false.
    var emailVerified: Bool?
    /// Further addresses of the account that the provider verified.
    var otherEmails: [String] = []
    /// Why asking the provider for the address failed, for the decision's trace; `nil` if it did
    /// not fail.
    var addressFault: String?
    package var name: String?
    /// Google's claim `hd`: the organization's domain.
    var hostedDomain: String?
    /// Our client id, for which the provider issued the assertion.
    var audience: String?
    /// The time of the assertion. The assertion is refused if the user's sessions were ended after
    /// this time; `nil` if this need not be checked.
    var tokenTime: TokenTime?
    /// When the person signed in at the provider, in seconds since 1970; `nil` if the provider does
    /// not say.
    var authenticatedAt: Int64?
    /// Whether the provider said that the person used two factors.
    var isMultiFactor = false

    /// Whether both persons have the same identity, which is a provider and a subject. All other
    /// data may differ.
    func isSame(as other: ProvedPerson) -> Bool {
        provider.id == other.provider.id && sameBytes(subject, other.subject)
    }
}

extension ClientCall {
    /// Runs the rules for the person at this tenant and returns the user; the decision is recorded
    /// like every other. `event` identifies a sign-in that is reported repeatedly, so that it is
    /// decided once. Throws `.refused` with the reason and reference.
    func admit(_ person: ProvedPerson, event: String? = nil) async throws -> UserRow {
        try await admit(attempt(of: person), event: event)
    }

    /// Runs the rules for the person and returns the result. If `tenant` is nil, the rules consider
    /// all tenants that may know the person. `token` is the token of an invite or a join link.
    func decide(
        _ person: ProvedPerson, in tenant: UUID?, bringing token: BroughtToken? = nil
    ) async throws -> ProvisioningResult {
        var attempt = self.attempt(of: person)
        attempt.tenant = tenant?.description
        attempt.bring(token)
        return try await decide(attempt, event: nil)
    }

    private func attempt(of person: ProvedPerson) -> ProvisioningCall {
        var attempt = ProvisioningCall(
            provider: .attempt(
                person.provider.id.description, issuer: nil, subject: person.subject))
        attempt.email = person.email
        attempt.emailVerified = person.emailVerified
        attempt.addressFault = person.addressFault
        attempt.otherEmails = person.otherEmails
        attempt.hostedDomain = person.hostedDomain
        attempt.name = person.name
        attempt.clientID = person.audience
        attempt.tokenTime = person.tokenTime
        return attempt
    }

    /// Adds the identity of `person`, which was just proved, to a signed-in user. Throws
    /// `StorageFailure.conflict` with the id of another user who already has the identity.
    func link(_ person: ProvedPerson, to user: UserRow) async throws {
        let provider = person.provider
        _ = try await scope.change(by: actor(user)) { change in
            try await change.linkIdentity(
                change.lockUser(user.id), provider: provider.kind, issuer: provider.issuer,
                subject: person.subject, email: person.email,
                isAssertedByTenant: provider.tenantID != nil)
        }
    }

    /// Runs the rules for an attempt that the core itself has proved, such as one by a password,
    /// and returns the user.
    func admit(_ attempt: ProvisioningCall, event: String? = nil) async throws -> UserRow {
        var attempt = attempt
        attempt.tenant = tenant.id.description
        let result = try await decide(attempt, event: event)
        guard result.verdict.maySignIn, let user = result.user, user.tenant == tenant.id
        else {
            throw SignInRefusal.refused(result.publicReason, reference: result.reference)
        }
        return user
    }

    func decide(
        _ attempt: ProvisioningCall, event: String?, isDryRun: Bool = false
    ) async throws -> ProvisioningResult {
        var attempt = attempt
        attempt.isInPerson = true
        // Each sign-in has its own event id, so that it never gets the recorded response of an
        // earlier sign-in.
        attempt.eventID = "sign-in \(event ?? UUID.random().description)"
        let result: ProvisioningResult
        do {
            result = try await database.provision(
                attempt, dryRun: isDryRun, by: clientActor
            ) { _ in "" }
        } catch let fault as TokenOutdated {
            throw SignInRefusal.signedOut(isStale: fault.isStale)
        }
        return result
    }
}
