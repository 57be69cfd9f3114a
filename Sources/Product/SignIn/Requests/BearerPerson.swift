import API
import Domain
import Federation
import Storage
import Text

/// A person whom an id token proves with each request: no sign-in began here, nothing is stored.
package struct BearerPerson: Sendable {
    package var provider: ProviderRow
    /// The attempt that the rules evaluate, in this tenant.
    package var attempt: ProvisioningCall
}

extension ClientCall {
    /// The person of the request's id token, verified by the keys of a provider of the tenant or of
    /// the platform. Throws `.noCredential`, `.notProved`, `.providerAway`.
    package func bearerPerson() async throws -> BearerPerson {
        guard let credential = try Credential(request, cookie: nil) else {
            throw SignInRefusal.noCredential
        }
        let token: IDToken
        do throws(IDTokenFault) {
            token = try IDToken(Array(credential.text.utf8))
        } catch {
            throw SignInRefusal.notProved("id token: " + error.reason)
        }
        let (provider, party) = try await issuer(of: token)
        do throws(FederationFault) {
            let claims = try await core.documents.claims(of: token, from: party)
            var attempt = ProvisioningCall(claims, from: provider)
            attempt.tenant = tenant.id.description
            return BearerPerson(provider: provider, attempt: attempt)
        } catch {
            throw SignInRefusal(error, of: "id token")
        }
    }

    /// A dry run of the rules for the person here; writes nothing except an existing user's last
    /// sign-in. Throws `.locked` for a person who asks too often.
    package func evaluate(_ person: BearerPerson) async throws -> ProvisioningResult {
        let database = core.database
        let taken = try await database.count(
            "dry runs of \(person.provider.id) \(person.attempt.subjectKey)")
        guard taken <= database.limits.dryRuns else {
            throw SignInRefusal.locked(Int(database.secondsOfMinuteLeft))
        }
        let result = try await decide(person.attempt, event: nil, isDryRun: true)
        // For an existing user, the token with each request is the sign-in.
        if result.verdict.outcome == .existing { database.noteSignIn(result, by: person.attempt) }
        return result.publicView
    }

    /// Runs the rules for the person here.
    package func provision(_ person: BearerPerson) async throws -> ProvisioningResult {
        try await decide(person.attempt, event: nil).publicView
    }

    /// The tenant's own provider before the platform's; another tenant's is not used.
    private func issuer(of token: IDToken) async throws -> (ProviderRow, RelyingParty) {
        var found: [(ProviderRow, RelyingParty)] = []
        for row in try await core.database.providers(issuing: token.claimedIssuer) {
            guard row.tenantID == nil || row.tenantID == tenant.id, let party = party(of: row),
                party.isIssuer(token.claimedIssuer), party.takesOne(of: token.claimedAudiences)
            else { continue }
            found.append((row, party))
        }
        guard let best = found.first(where: { $0.0.tenantID != nil }) ?? found.first else {
            throw SignInRefusal.notProved("id token: no provider of this tenant")
        }
        return best
    }
}
