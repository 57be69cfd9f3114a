import Domain
import Storage
import Text

/// The scopes, address and origin for which a key is presented.
package struct KeyTerms: Sendable {
    var scopes: [String] = []
    var ip: String?
    var origin: String?

    /// For nothing particular.
    package init() {}

    init(_ input: Input) {
        scopes = input.optionalStrings("scopes") ?? []
        ip = input.optionalString("ip")
        origin = input.optionalString("origin")
    }
}

/// A key to verify, and its terms.
struct KeyQuestion: Sendable {
    let terms: KeyTerms
    /// Nil if no key has this form.
    let secret: (locator: String, hash: KeyHash)?

    init(_ key: String, _ terms: KeyTerms = KeyTerms()) {
        self.terms = terms
        secret = APIKeySecret(key).map { ($0.locator, KeyHash(of: $0.text)) }
    }

    init(_ input: Input) throws { self.init(try input.string("key"), KeyTerms(input)) }
}
