package enum EmailFault: Error, Sendable, Equatable {
    /// Not exactly one `@` with something on both sides.
    case noSingleAt
    /// Not a dot-atom of ASCII (RFC 5322 section 3.2.3): quoted, non-ASCII, dots misplaced.
    case badLocalPart
    /// More than 254 bytes, or a local part of more than 64.
    case tooLong
    /// The domain is invalid: an address literal, empty labels, forbidden characters.
    case badDomain
    case singleLabelDomain
    /// It contains an invisible character: UTS #46 would map some of them away.
    case hidden(Unicode.Scalar)

    /// How to correct it; follows the field's name.
    package var mend: String {
        switch self {
        case .noSingleAt: "must be an email address: a name, one @ and a domain"
        case .badLocalPart: "must have plain ASCII letters, digits and single dots before the @"
        case .tooLong: "must have at most 254 bytes, and 64 before the @"
        case .badDomain: "must have a domain name after the @"
        case .hidden(let scalar):
            "must have no hidden character; it has \(DisplayText.name(of: scalar)): type it anew"
        case .singleLabelDomain: "must have a domain of more than one label after the @"
        }
    }
}

/// A mailbox with the one key under which it is looked up. Tags and dots are kept: only the
/// provider knows their meaning.
package struct EmailAddress: Hashable, Sendable, CustomStringConvertible {
    /// As given, without invisible characters at its ends.
    package let original: String
    /// Lower-case local part, `@`, A-label domain. ASCII only, so that string equality is equality
    /// of bytes here and in the database.
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

    /// Two spellings of one mailbox are equal.
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
