/// Names that are shown among others' texts: in a mail's sender, in lists.
package enum DisplayText {
    /// Whether a scalar makes text misleading: control characters, line and paragraph separators,
    /// changes of text direction (UAX #9), and invisible tags.
    package static func isDeceptive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069,
            0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }

    package static func isPlain(_ text: String) -> Bool {
        !text.unicodeScalars.contains(where: isDeceptive)
    }

    /// Cleaned, and cut to this number of scalars with an ellipsis at its end if it is longer.
    package static func shortened(_ text: String, to limit: Int) -> String {
        let clean = cleaned(text)
        guard clean.unicodeScalars.count > limit else { return clean }
        return String(String.UnicodeScalarView(clean.unicodeScalars.prefix(limit - 1))) + "…"
    }

    /// Replaces each deceptive scalar by a space.
    package static func cleaned(_ text: String) -> String {
        if isPlain(text) { return text }
        var clean = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { clean.append(isDeceptive(scalar) ? " " : scalar) }
        return String(clean)
    }

    /// Words of another system as one line: a deceptive scalar becomes its number, `\u{1B}`, bytes
    /// that are no UTF-8 the replacement character. Cut to this number of scalars with an ellipsis.
    package static func escaped(_ bytes: some Collection<UInt8>, to limit: Int) -> String {
        var shown = ""
        var count = 0
        for scalar in String(decoding: bytes.prefix(limit * 4), as: UTF8.self).unicodeScalars {
            let piece =
                isDeceptive(scalar)
                ? "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" : String(scalar)
            count += piece.unicodeScalars.count
            guard count < limit else { return shown + "…" }
            shown += piece
        }
        return shown
    }
}
