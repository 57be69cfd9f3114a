import API
import Domain
import HTTP
import Storage
import Text

/// What a provider says of a person, checked by its keys or by asking it over TLS.
package struct ProvedPerson: Sendable {
    package var provider: ProviderRow
    package var subject: String
    package var email: String?
    /// Absent is not the same as an explicit false.
    package var emailVerified: Bool?
    package var name: String?
    /// Google's `hd`.
    package var hostedDomain: String?
    /// The client of ours that the provider's word was given to.
    package var audience: String?
    /// When the provider's word was given, where it is older than this moment may be.
    package var tokenTime: TokenTime?

    /// One and the same sign-in, whatever else its provider says this time.
    func isSame(as other: ProvedPerson) -> Bool {
        provider.id == other.provider.id && sameBytes(subject, other.subject)
    }
}

extension ClientCall {
    /// Asks the one provisioning engine who the person is in this tenant; the decision is recorded
    /// like every other. `event`: what the sign-in is known by where it is told of again and again;
    /// it is one decision then. Throws `.refused` with its reason and reference.
    package func admit(_ person: ProvedPerson, event: String? = nil) async throws -> UserRow {
        try await admit(attempt(of: person), event: event)
    }

    /// What the rules say of the person: in that tenant, or in all that may know them. `invite`: the
    /// hash of the token that they hold.
    func decide(
        _ person: ProvedPerson, in tenant: UUID?, invite: [UInt8]? = nil
    ) async throws -> ProvisioningResult {
        var attempt = self.attempt(of: person)
        attempt.tenant = tenant?.description
        attempt.inviteHash = invite
        return try await decide(attempt, event: nil)
    }

    private func attempt(of person: ProvedPerson) -> ProvisioningCall {
        var attempt = ProvisioningCall(
            provider: .attempt(
                person.provider.id.description, issuer: nil, subject: person.subject))
        attempt.email = person.email
        attempt.emailVerified = person.emailVerified
        attempt.hostedDomain = person.hostedDomain
        attempt.name = person.name
        attempt.clientID = person.audience
        attempt.tokenTime = person.tokenTime
        return attempt
    }

    /// Adds a sign-in that was proved just now to a person who is signed in. Throws
    /// `StorageFailure.conflict` with the id of the user who has it.
    package func link(_ person: ProvedPerson, to user: UserRow) async throws {
        let database = core.database
        let provider = person.provider
        _ = try await scope.change(by: actor(user)) { change in
            try await change.linkIdentity(
                change.lockUser(user.id), provider: provider.kind, issuer: provider.issuer,
                subject: person.subject, email: person.email,
                isAssertedByTenant: provider.tenantID != nil, database: database)
        }
    }

    /// The same of a person whom the core proved by itself.
    func admit(_ attempt: ProvisioningCall, event: String? = nil) async throws -> UserRow {
        var attempt = attempt
        attempt.tenant = tenant.id.description
        let result = try await decide(attempt, event: event)
        guard result.verdict.maySignIn, let user = result.user, user.tenantID == tenant.id,
            let row = try await scope.user(user.id)
        else {
            throw SignInRefusal.refused(result.publicReason, reference: result.reference)
        }
        return row
    }

    func decide(
        _ attempt: ProvisioningCall, event: String?, isDryRun: Bool = false
    ) async throws -> ProvisioningResult {
        var attempt = attempt
        attempt.isInPerson = true
        // No caller of this door reads a kept answer: each sign-in is an attempt of its own.
        attempt.eventID = "sign-in \(event ?? UUID.random().description)"
        let result: ProvisioningResult?
        do {
            result = try await core.database.provision(
                attempt, dryRun: isDryRun, by: clientActor
            ) { _ in "" }
        } catch is TokenOutdated {
            throw SignInRefusal.signedOut
        }
        guard let result else { throw Problem.internalError }
        return result
    }
}
