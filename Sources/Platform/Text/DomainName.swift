import CPsl

package enum DomainFault: Error, Sendable, Equatable {
    /// No valid name by UTS #46 and STD3, or too long.
    case malformed
    /// One label only, such as `localhost`.
    case singleLabel
    /// An address was given instead of a name.
    case address
    /// A character that is invisible stands in it: UTS #46 would map some of them away.
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

    /// A public mail domain, where anyone gets a mailbox: proves no common organisation.
    package var isPublicMail: Bool { PublicMailDomains.all.contains(ascii) }

    private static func isNumeric(_ label: some Collection<UInt8>) -> Bool {
        label.allSatisfy(ASCII.isDigit) || label.starts(with: "0x".utf8)
    }
}

/// The newest list on this machine, or the library's own. Read it only once loaded.
private enum PublicSuffixList {
    nonisolated(unsafe) static let shared: OpaquePointer? = psl_latest(nil)
}
