import Cryptography

/// A secret token that belongs to a tenant. It consists of the tenant's locator, by which the
/// tenant is found first, and 256 random bits. Invites, join links, password resets, link grants
/// and apps' opaque sessions use such tokens.
package enum TenantToken {
    /// A new token: the locator (6 characters) and 43 random characters.
    package static func make(locator: String) -> String { locator + TokenSecret.make() }

    /// SHA-256 of the whole token.
    package static func hash(_ token: String) -> [UInt8] { SHA256.hash(Array(token.utf8)) }

    /// The locator of a token. Returns nil if the text does not have the form of a token.
    package static func locator(_ token: String) -> String? {
        let bytes = Array(token.utf8)
        guard bytes.count == 49,
            TokenSecret.hash(String(decoding: bytes[6...], as: UTF8.self)) != nil
        else { return nil }
        return String(decoding: bytes[..<6], as: UTF8.self)
    }
}
