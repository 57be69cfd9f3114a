import CIdn2
import CPsl

package enum DomainFault: Error, Sendable, Equatable {
    /// Not a valid name by UTS #46 and STD3, or too long.
    case malformed
    /// One label only, such as `localhost`.
    case singleLabel
    /// An address was given instead of a name.
    case address
    /// It contains an invisible character: UTS #46 would map some of them away.
    case hidden(Unicode.Scalar)
}

/// A host name in its A-label form (UTS #46). Equality is safe on the string: it is ASCII only.
package struct DomainName: Hashable, Sendable, CustomStringConvertible {
    /// Lower-case ASCII labels, no trailing dot, at most 253 bytes.
    package let ascii: String

    package init(_ text: String, allowSingleLabel: Bool = false) throws(DomainFault) {
        if let hidden = DisplayText.hidden(in: text) { throw .hidden(hidden) }
        var input = text
        // One trailing dot is the root; it may also be another script's full stop, which only the
        // mapping reveals.
        let dotted = input.utf8.last == UInt8(ascii: ".")
        if dotted { input = String(input.dropLast()) }
        guard var bytes = IDNA.ascii(input) else { throw .malformed }
        if !dotted, bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard bytes.count <= 253, labels.allSatisfy({ ASCII.isLabel($0) }), let last = labels.last
        else { throw .malformed }
        // As browsers do, a numeric last label makes the whole an address.
        if Self.isNumeric(last) { throw .address }
        if labels.count < 2, !allowSingleLabel { throw .singleLabel }
        ascii = String(decoding: bytes, as: UTF8.self)
    }

    /// The U-label form. Show it beside `ascii`: letters of two scripts may look alike.
    package var display: String { IDNA.unicode(ascii) }

    package var description: String { ascii }

    /// True for `com`, `co.uk`, `github.io` and for any unknown single label.
    package var isPublicSuffix: Bool {
        PublicSuffixList.shared.map { psl_is_public_suffix($0, ascii) == 1 } ?? false
    }

    /// A public mail domain, where anyone can get a mailbox, so it proves no common organisation.
    package var isPublicMail: Bool { PublicMailDomains.all.contains(ascii) }

    private static func isNumeric(_ label: some Collection<UInt8>) -> Bool {
        label.allSatisfy(ASCII.isDigit) || label.starts(with: "0x".utf8)
    }
}

/// The newest list on this machine, or the library's own. It is only read once loaded.
private enum PublicSuffixList {
    nonisolated(unsafe) static let shared: OpaquePointer? = psl_latest(nil)
}

/// UTS #46, non-transitional. The caller checks the labels for STD3: under its flag the library
/// drops `/`, `_` or a space instead of refusing them, so that `a/b.com` would become `ab.com`.
enum IDNA {
    /// The lower-case A-label form of a host name; `nil` if it has none. Its labels are not
    /// checked.
    static func ascii(_ name: String) -> [UInt8]? {
        // A zero byte would end the C string early and hide what follows it.
        guard !name.utf8.contains(0), name.utf8.count <= 1024 else { return nil }
        var output: UnsafeMutablePointer<CChar>?
        let flags = IDN2_NONTRANSITIONAL.rawValue | IDN2_NFC_INPUT.rawValue
        guard idn2_to_ascii_8z(name, &output, Int32(flags)) == IDN2_OK.rawValue, let output else {
            return nil
        }
        defer { idn2_free(output) }
        return ASCII.lower(bytes(output))
    }

    /// The U-label form, for display; the name itself if it has none.
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
