import API
import Federation
import JSON
import Storage
import Text

extension ClientCall {
    /// The provider at which the client's users sign in; nil if there is none, or no single one.
    package func provider(
        kinds: [String] = ClientDescription.signInKinds
    ) async throws -> ProviderRow? {
        ProviderChoice.choose(
            from: try await core.database.providers(near: tenant.id), kinds: kinds,
            named: setting("provider")?.string)
    }

    package func hasProvider() async throws -> Bool { try await provider() != nil }

    /// The client id of this app at its provider, if it is not the provider's own: so that a public
    /// app and one with a secret may share an issuer.
    func ownClientID(at provider: ProviderRow) -> String? {
        guard let id = setting("client_id")?.string,
            contract.providerKinds.contains(where: { sameBytes($0, provider.kind) }),
            setting("provider")?.string.map({ ProviderChoice.isNamed(provider, $0) }) ?? true
        else { return nil }
        return id
    }

    /// The provider as the audience of this app's tokens: with the app's own client, if it has one.
    func party(of provider: ProviderRow) -> RelyingParty? {
        guard let party = provider.relyingParty else { return nil }
        return ownClientID(at: provider).map { party.asClient($0) } ?? party
    }

    /// The secret that the provider gave to the client; nil for a public one. Throws `.notProved`
    /// if the provider was changed since the client's own secret was set.
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
