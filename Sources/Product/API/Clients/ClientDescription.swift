import Domain

/// What the API knows of a client contract: the contracts themselves stand above it.
package struct ClientDescription: Sendable {
    /// As it stands in paths.
    package var name: String
    /// What its pages may send.
    package var profile: OriginProfile
    package var settings: ObjectShape

    package init(name: String, profile: OriginProfile, settings: ObjectShape) {
        self.name = name
        self.profile = profile
        self.settings = settings
    }
}
