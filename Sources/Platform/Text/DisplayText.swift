/// Checks and cleans texts that are shown beside texts of other people, such as names in lists or
/// the sender's name of a mail.
package enum DisplayText {
    /// Whether a scalar can make text misleading. These can: control characters, line and paragraph
    /// separators, characters that change the direction of text (UAX #9), and invisible tags.
    package static func isDeceptive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069,
            0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }

    /// Returns the first invisible scalar of a text. The following are invisible: white space other
    /// than the space, format characters, and characters that programs may leave out (Unicode's
    /// Default_Ignorable_Code_Point).
    package static func hidden(in text: some StringProtocol) -> Unicode.Scalar? {
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return nil }
        return text.unicodeScalars.first { scalar in
            scalar != " "
                && (isDeceptive(scalar) || isInvisible(scalar) || scalar.properties.isWhitespace)
        }
    }

    /// Returns the name of a scalar, such as `U+200B`.
    package static func name(of scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x7F
            && (scalar.properties.isDefaultIgnorableCodePoint || scalar.value == 0x2800
                || scalar.properties.generalCategory == .format)
    }

    /// Returns the form in which names, labels and notes are stored. It has no invisible characters
    /// at its ends and no soft hyphens, which only mark where a line may be broken.
    package static func named(_ text: String) -> String {
        guard text.utf8.contains(0xC2), text.unicodeScalars.contains("\u{AD}") else {
            return stripped(text)
        }
        return stripped(
            String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\u{AD}" })))
    }

    /// Whether everything in a name, a label or a note can be seen. The text may contain nothing
    /// deceptive. An invisible character is allowed only if it shapes a character or an emoji
    /// beside it.
    package static func isName(_ text: String) -> Bool {
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return true }
        let scalars = Array(text.unicodeScalars)
        for (at, scalar) in scalars.enumerated() {
            if isDeceptive(scalar) { return false }
            guard isInvisible(scalar), scalar.value != 0x2800 else { continue }
            let before = at > 0 ? scalars[at - 1] : nil
            let after = at + 1 < scalars.count ? scalars[at + 1] : nil
            guard let before, isShaping(scalar, before, after) else { return false }
        }
        return text.isEmpty
            || scalars.contains { !isInvisible($0) && !$0.properties.isWhitespace }
    }

    /// Makes a name from another system fit for display. Characters that a name may not contain are
    /// removed or replaced by spaces.
    package static func shown(_ text: String) -> String {
        let name = named(text)
        if isName(name) { return name }
        let visible = cleaned(name).unicodeScalars.filter { !isInvisible($0) }
        return stripped(String(String.UnicodeScalarView(visible)))
    }

    /// Returns the text without its invisible characters.
    package static func visible(_ text: String) -> String {
        guard hidden(in: text) != nil else { return text }
        let scalars = text.unicodeScalars.filter { hidden(in: String($0)) == nil }
        return String(String.UnicodeScalarView(scalars))
    }

    /// Whether an invisible scalar shapes its neighbours: U+200C or U+200D between letters, U+200D
    /// within an emoji, or a variation selector after a character that has variants.
    private static func isShaping(
        _ scalar: Unicode.Scalar, _ before: Unicode.Scalar, _ after: Unicode.Scalar?
    ) -> Bool {
        switch scalar.value {
        case 0x200C, 0x200D:
            guard let after else { return false }
            if isOfWord(before), isOfWord(after) { return true }
            let isEmoji =
                before.properties.isEmoji || before.value == 0xFE0F
                || before.properties.isEmojiModifier
            return scalar.value == 0x200D && isEmoji && after.properties.isEmoji
        case 0xFE0E, 0xFE0F: return before.properties.isEmoji
        case 0xFE00...0xFE0D, 0xE0100...0xE01EF: return before.properties.isIdeographic
        default: return false
        }
    }

    private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark, .spacingMark:
            true
        default: false
        }
    }

    static func isPlain(_ text: String) -> Bool {
        !text.unicodeScalars.contains(where: isDeceptive)
    }

    /// Returns the text without white space and format characters (Unicode's White_Space and Cf) at
    /// its ends, where no one sees them. It removes scalars and not Characters, because a Character
    /// may consist of a visible scalar and an invisible one after it.
    package static func stripped(_ text: String) -> String {
        if let first = text.utf8.first, let last = text.utf8.last, isVisible(first), isVisible(last)
        {
            return text
        }
        var scalars = text.unicodeScalars[...]
        while let first = scalars.first, isAtNoEnd(first) { scalars.removeFirst() }
        while let last = scalars.last, isAtNoEnd(last) { scalars.removeLast() }
        return String(String.UnicodeScalarView(scalars))
    }

    private static func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

    private static func isAtNoEnd(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.properties.generalCategory == .format
    }

    /// Returns the text with deceptive scalars replaced by spaces. A text that is longer than
    /// `limit` scalars is cut and ends with an ellipsis.
    package static func shortened(_ text: String, to limit: Int) -> String {
        let clean = cleaned(text)
        guard clean.unicodeScalars.count > limit else { return clean }
        return String(String.UnicodeScalarView(clean.unicodeScalars.prefix(limit - 1))) + "…"
    }

    /// Returns the text with each deceptive scalar replaced by a space.
    static func cleaned(_ text: String) -> String {
        if isPlain(text) { return text }
        var clean = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { clean.append(isDeceptive(scalar) ? " " : scalar) }
        return String(clean)
    }

    /// Returns a text from another system as one line. A deceptive scalar is replaced by its
    /// number, such as `\u{1B}`, and bytes that are not UTF-8 by the replacement character. A
    /// result that is longer than `limit` scalars is cut and ends with an ellipsis.
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
