import Cryptography
import Text

/// The part of a mail's return address that names the mail: the locator of its tenant and 128
/// random bits. It gives no right: a report that was sent to the address is about this mail. In
/// lower-case hexadecimal, since mail systems may fold letters.
package enum ReturnToken {
    private static let locatorSize = 6
    private static let randomSize = 16
    private static let mailbox = "bounce+"

    static func make(locator: String) -> String {
        Hex.encode(Array(locator.utf8) + RandomBytes.make(randomSize))
    }

    /// The address to which a mail comes back that cannot be delivered.
    package static func address(_ token: String, at domain: DomainName) -> String {
        "\(mailbox)\(token)@\(domain.ascii)"
    }

    /// The token of a return address; nil for any other address.
    package static func token(of address: some Collection<UInt8>) -> String? {
        var text = ASCII.lower(address)[...]
        if text.first == UInt8(ascii: "<") { text = text.dropFirst() }
        guard text.starts(with: mailbox.utf8) else { return nil }
        let token = text.dropFirst(mailbox.utf8.count).prefix { hexDigit($0) != nil }
        guard token.count == 2 * (locatorSize + randomSize),
            text.dropFirst(mailbox.utf8.count + token.count).first == UInt8(ascii: "@")
        else { return nil }
        return String(decoding: token, as: UTF8.self)
    }

    /// The locator of a token's tenant.
    static func locator(_ token: String) -> String {
        String(decoding: Hex.decode(token)?.prefix(locatorSize) ?? [], as: UTF8.self)
    }
}
