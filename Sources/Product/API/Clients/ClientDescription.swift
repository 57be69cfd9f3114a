import Domain

/// A client contract as the API knows it: the contracts themselves are in a layer above.
package struct ClientDescription: Sendable {
    /// The name in paths.
    package var name: String
    /// What its pages may send.
    package var profile: CORSProfile
    package var settings: ObjectShape
    /// Kinds of providers to which the setting `client_id` applies.
    package var providerKinds: [String]

    /// Kinds with a browser sign-in.
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
