import API
import Domain
import Federation
import JSON
import Storage
import Text

extension ClientCall {
    /// The provider that the client's people sign in at; nil where there is none, or no one is it.
    package func provider(
        kinds: [String] = ClientDescription.signInKinds
    ) async throws -> ProviderRow? {
        ProviderChoice.choose(
            from: try await core.database.providers(near: tenant.id), kinds: kinds,
            named: setting("provider")?.string)
    }

    package func hasProvider() async throws -> Bool { try await provider() != nil }

    /// The client that this app is at its provider, where it is not the provider's own: so that a
    /// public app and one with a secret may share an issuer.
    func ownClientID(at provider: ProviderRow) -> String? {
        guard let id = setting("client_id")?.string,
            contract.providerKinds.contains(where: { sameBytes($0, provider.kind) }),
            setting("provider")?.string.map({ ProviderChoice.isNamed(provider, $0) }) ?? true
        else { return nil }
        return id
    }

    /// The provider as this app's tokens are checked: for the app's own client there, if it has one.
    func party(of provider: ProviderRow) -> RelyingParty? {
        guard let party = provider.relyingParty else { return nil }
        return ownClientID(at: provider).map { party.asClient($0) } ?? party
    }

    /// What the provider gave to the client; nil for a public one. Throws `.notProved` where the
    /// provider has been moved since the client's own secret was set.
    func secret(at provider: ProviderRow) async throws -> String? {
        guard let id = ownClientID(at: provider) else {
            return try await core.database.clientSecret(of: provider)
        }
        guard let secret = try await scope.clientSecret(of: client.name) else { return nil }
        guard secret.audience == provider.secretAudience(clientID: id) else {
            throw SignInRefusal.notProved(
                "the provider has changed since the client's secret was set: set it again")
        }
        return secret.text
    }
}
