import Domain

/// What the API knows of a client contract: the contracts themselves stand above it.
package struct ClientDescription: Sendable {
    /// As it stands in paths.
    package var name: String
    /// What its pages may send.
    package var profile: CORSProfile
    package var settings: ObjectShape
    /// Kinds of the provider that the setting `client_id` is of.
    package var providerKinds: [String]

    /// Kinds that a person can be sent to.
    package static let signInKinds = ["oidc", "google", "github"]

    package init(
        name: String, profile: CORSProfile, settings: ObjectShape,
        providerKinds: [String] = Self.signInKinds
    ) {
        self.name = name
        self.profile = profile
        self.settings = settings
        self.providerKinds = providerKinds
    }
}
