import API
import Domain
import HTTP
import Storage
import Text

/// A person as asserted by a provider, verified with its keys or by asking it over TLS.
package struct ProvedPerson: Sendable {
    package var provider: ProviderRow
    package var subject: String
    package var email: String?
    /// Absent is not the same as an explicit false.
    package var emailVerified: Bool?
    /// Further addresses of the account that the provider verified.
    var otherEmails: [String] = []
    /// Why the provider could not be asked for the address, for the decision's trace; `nil` if it
    /// was not asked, or answered.
    var addressFault: String?
    package var name: String?
    /// Google's `hd`.
    package var hostedDomain: String?
    /// Our client to which the provider issued the assertion.
    package var audience: String?
    /// When the provider issued it, if that may be in the past.
    package var tokenTime: TokenTime?
    /// When the person signed in there, in seconds since 1970; `nil` if the provider does not say.
    var authenticatedAt: Int64?
    /// Whether the provider asked for two factors.
    var isMultiFactor = false

    /// Whether both are the same identity, whatever else the provider reports this time.
    func isSame(as other: ProvedPerson) -> Bool {
        provider.id == other.provider.id && sameBytes(subject, other.subject)
    }
}

extension ClientCall {
    /// Asks the one provisioning engine for the user in this tenant; the decision is recorded like
    /// every other. `event` identifies a sign-in that is reported repeatedly, so that it is one
    /// decision. Throws `.refused` with its reason and reference.
    package func admit(_ person: ProvedPerson, event: String? = nil) async throws -> UserRow {
        try await admit(attempt(of: person), event: event)
    }

    /// The rules' result for the person, in that tenant or in all that may know them. `token`
    /// belongs to an invite or a join link.
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

    /// Adds an identity that was just proved to a signed-in user. Throws `StorageFailure.conflict`
    /// with the id of the user who has it.
    package func link(_ person: ProvedPerson, to user: UserRow) async throws {
        let provider = person.provider
        _ = try await scope.change(by: actor(user)) { change in
            try await change.linkIdentity(
                change.lockUser(user.id), provider: provider.kind, issuer: provider.issuer,
                subject: person.subject, email: person.email,
                isAssertedByTenant: provider.tenantID != nil)
        }
    }

    /// The same for a person whom the core itself proved.
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
        // Sign-ins never reuse a recorded response: each is an attempt of its own.
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
