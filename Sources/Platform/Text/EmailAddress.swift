package enum EmailFault: Error, Sendable, Equatable {
    /// The address does not contain exactly one `@`, or has nothing before or after the `@`.
    case noSingleAt
    /// The local part is not a dot-atom of ASCII (RFC 5322 section 3.2.3): it is quoted or not
    /// ASCII, or has misplaced dots.
    case badLocalPart
    /// The address has more than 254 bytes, or its local part more than 64.
    case tooLong
    /// The domain is invalid: an address literal, empty labels or forbidden characters.
    case badDomain
    case singleLabelDomain
    /// The text contains an invisible character. Such a text is refused, because UTS #46 would
    /// silently remove some invisible characters.
    case hidden(Unicode.Scalar)

    /// How to correct the address. The text follows the name of the field.
    package var mend: String {
        switch self {
        case .noSingleAt: "must be an email address: a name, one @ and a domain"
        case .badLocalPart:
            "must have only ASCII letters, digits, signs such as + - _ and single dots between "
                + "them before the @"
        case .tooLong: "must have at most 254 bytes, and 64 before the @"
        case .badDomain: "must have a domain name after the @"
        case .hidden(let scalar):
            "must have no hidden character; it has \(DisplayText.name(of: scalar)): type it anew"
        case .singleLabelDomain: "must have a domain of more than one label after the @"
        }
    }
}

/// An email address, and the key by which it is looked up. Tags and dots in the local part are
/// kept, because only the mail provider knows what they mean.
package struct EmailAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address as given, but without invisible characters at its ends.
    package let original: String
    /// The local part in lower case, `@`, and the domain as A-labels. The key is ASCII only, so
    /// comparing strings and comparing bytes give the same result here and in the database.
    package let key: String
    package let domain: DomainName

    package init(_ text: String, allowSingleLabel: Bool = false) throws(EmailFault) {
        let stripped = DisplayText.stripped(text)
        if let hidden = DisplayText.hidden(in: stripped) { throw .hidden(hidden) }
        let bytes = Array(stripped.utf8)[...]
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")), at > bytes.startIndex,
            bytes.firstIndex(of: UInt8(ascii: "@")) == at, at + 1 < bytes.endIndex
        else { throw .noSingleAt }
        let local = bytes[..<at]
        guard bytes.count <= 254, local.count <= 64 else { throw .tooLong }
        guard Self.isDotAtom(local) else { throw .badLocalPart }
        do throws(DomainFault) {
            domain = try DomainName(
                String(decoding: bytes[(at + 1)...], as: UTF8.self),
                allowSingleLabel: allowSingleLabel)
        } catch {
            throw error == .singleLabel ? .singleLabelDomain : .badDomain
        }
        key = String(decoding: ASCII.lower(local), as: UTF8.self) + "@" + domain.ascii
        guard key.utf8.count <= 254 else { throw .tooLong }
        original = String(decoding: bytes, as: UTF8.self)
    }

    package var description: String { original }

    /// Whether two addresses have the same key, even if they are spelled differently.
    package static func == (left: EmailAddress, right: EmailAddress) -> Bool {
        left.key == right.key
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }

    private static func isDotAtom(_ local: ArraySlice<UInt8>) -> Bool {
        let atoms = local.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return atoms.allSatisfy { atom in !atom.isEmpty && atom.allSatisfy(isAtext) }
    }

    private static let punctuation = Set("!#$%&'*+-/=?^_`{|}~".utf8)

    private static func isAtext(_ byte: UInt8) -> Bool {
        ASCII.isLowerOrDigit(ASCII.lower(byte)) || punctuation.contains(byte)
    }
}
