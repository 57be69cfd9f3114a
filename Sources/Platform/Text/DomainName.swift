import CIdn2
import CPsl

package enum DomainFault: Error, Sendable, Equatable {
    /// The name is not valid according to UTS #46 and STD3, or is too long.
    case malformed
    /// The name has only one label, such as `localhost`.
    case singleLabel
    /// The text is an IP address and not a name.
    case address
    /// The text contains an invisible character. Such a text is refused, because UTS #46 would
    /// silently remove some invisible characters.
    case hidden(Unicode.Scalar)
}

/// A host name in its A-label form (UTS #46). This form is ASCII only, so two names can be compared
/// as strings.
package struct DomainName: Hashable, Sendable, CustomStringConvertible {
    /// The labels in lower-case ASCII, without a trailing dot; at most 253 bytes.
    package let ascii: String

    package init(_ text: String, allowSingleLabel: Bool = false) throws(DomainFault) {
        if let hidden = DisplayText.hidden(in: text) { throw .hidden(hidden) }
        var input = text
        // A trailing dot stands for the root. The text may also end with the full stop of another
        // script, which the mapping turns into a dot.
        let dotted = input.utf8.last == UInt8(ascii: ".")
        if dotted { input = String(input.dropLast()) }
        guard var bytes = IDNA.ascii(input) else { throw .malformed }
        if !dotted, bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard bytes.count <= 253, labels.allSatisfy({ ASCII.isLabel($0) }), let last = labels.last
        else { throw .malformed }
        // A numeric last label makes the whole text an address, as in browsers.
        if Self.isNumeric(last) { throw .address }
        if labels.count < 2, !allowSingleLabel { throw .singleLabel }
        ascii = String(decoding: bytes, as: UTF8.self)
    }

    /// The U-label form, for display. Show it beside `ascii`, because letters of two scripts may
    /// look alike.
    package var display: String { IDNA.unicode(ascii) }

    package var description: String { ascii }

    /// Whether the name is a public suffix, such as `com`, `co.uk` or `github.io`. Every unknown
    /// single label counts as a public suffix.
    package var isPublicSuffix: Bool {
        PublicSuffixList.shared.map { psl_is_public_suffix($0, ascii) == 1 } ?? false
    }

    /// Whether anyone can get a mailbox at this domain. If so, an address at this domain does not
    /// prove membership in an organisation.
    package var isPublicMail: Bool { PublicMailDomains.all.contains(ascii) }

    private static func isNumeric(_ label: some Collection<UInt8>) -> Bool {
        label.allSatisfy(ASCII.isDigit) || label.starts(with: "0x".utf8)
    }
}

/// The newest public suffix list on this machine. If this machine has none, the library's own list
/// is used. Once loaded, the list is only read.
private enum PublicSuffixList {
    nonisolated(unsafe) static let shared: OpaquePointer? = psl_latest(nil)
}

/// Converts names by UTS #46, non-transitional. The caller checks the labels for STD3. The
/// library's own STD3 flag is not used, because with it the library drops `/`, `_` or a space
/// instead of refusing the name: `a/b.com` would become `ab.com`.
enum IDNA {
    /// Returns the lower-case A-label form of a host name; `nil` if there is none. The labels are
    /// not checked.
    static func ascii(_ name: String) -> [UInt8]? {
        // A zero byte would end the C string early, and the text after it would be ignored.
        guard !name.utf8.contains(0), name.utf8.count <= 1024 else { return nil }
        var output: UnsafeMutablePointer<CChar>?
        let flags = IDN2_NONTRANSITIONAL.rawValue | IDN2_NFC_INPUT.rawValue
        guard idn2_to_ascii_8z(name, &output, Int32(flags)) == IDN2_OK.rawValue, let output else {
            return nil
        }
        defer { idn2_free(output) }
        return ASCII.lower(bytes(output))
    }

    /// Returns the U-label form for display, or the name itself if it has no U-label form.
    static func unicode(_ name: String) -> String {
        var output: UnsafeMutablePointer<CChar>?
        guard idn2_to_unicode_8z8z(name, &output, 0) == IDN2_OK.rawValue, let output else {
            return name
        }
        defer { idn2_free(output) }
        return String(validating: bytes(output), as: UTF8.self) ?? name
    }

    private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
        var bytes: [UInt8] = []
        var at = 0
        while text[at] != 0 {
            bytes.append(UInt8(bitPattern: text[at]))
            at += 1
        }
        return bytes
    }
}
