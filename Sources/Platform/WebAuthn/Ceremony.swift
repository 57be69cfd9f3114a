/// What a registration or an assertion must answer. A passkey is a second factor and the first one
/// in one, so that the user is always to be verified.
package struct Ceremony: Sendable {
    /// The bytes that were given out once.
    package var challenge: [UInt8]
    /// The console's own: scheme, host and port as a browser writes them.
    package var origin: String
    /// The RP id: the domain that all passkeys of this service are bound to.
    package var relyingParty: String

    package init(challenge: [UInt8], origin: String, relyingParty: String) {
        self.challenge = challenge
        self.origin = origin
        self.relyingParty = relyingParty
    }
}
