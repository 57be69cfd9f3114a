import HTTP
import Text

/// A mail with a plain and an HTML part, as bytes for SMTP (RFC 5322, 2045, 2047). No text can add
/// a header line.
package struct MailMessage: Sendable {
    package var from: EmailAddress
    package var fromName: String
    package var to: EmailAddress
    package var subject: String
    package var text: String
    package var html: String
    /// The Message-ID: identifies a repeated delivery.
    package var id: UUID
    package var date: Timestamp
    /// Where a mail that cannot be delivered comes back to (the envelope's sender); nil: `from`.
    package var returnPath: String?

    package init(
        from: EmailAddress, fromName: String, to: EmailAddress, subject: String, text: String,
        html: String, id: UUID, date: Timestamp
    ) {
        self.from = from
        self.fromName = fromName
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
        self.id = id
        self.date = date
    }

    package var bytes: [UInt8] {
        let boundary = "=_\(id)"
        let lines = [
            "From: \(Self.phrase(fromName))\r\n <\(Self.address(from))>",
            "To: <\(Self.address(to))>",
            "Subject: \(Self.encoded(subject))",
            "Date: \(dateText)",
            "Message-ID: <\(id)@\(from.domain.ascii)>",
            "MIME-Version: 1.0",
            "Auto-Submitted: auto-generated",
            "Content-Type: multipart/alternative; boundary=\"\(boundary)\"",
            "",
            "--\(boundary)",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: base64",
            "",
            Self.base64Lines(text),
            "--\(boundary)",
            "Content-Type: text/html; charset=utf-8",
            "Content-Transfer-Encoding: base64",
            "",
            Self.base64Lines(html),
            "--\(boundary)--",
            "",
        ]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// Local part as it was typed, domain as A-labels: ASCII throughout, no quoting needed.
    package static func address(_ email: EmailAddress) -> String {
        let local = email.original.utf8.prefix { $0 != UInt8(ascii: "@") }
        return String(decoding: local, as: UTF8.self) + "@" + email.domain.ascii
    }

    /// `Sun, 06 Nov 1994 08:49:37 +0000`
    private var dateText: String {
        HTTPDate.text(date.microseconds / 1_000_000).dropLast(3) + "+0000"
    }

    /// A display name: quoted if it is plain ASCII, else as encoded words.
    private static func phrase(_ name: String) -> String {
        guard isPlain(name) else { return encoded(name) }
        let escaped = name.utf8.flatMap {
            $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\")
                ? [UInt8(ascii: "\\"), $0] : [$0]
        }
        return "\"" + String(decoding: escaped, as: UTF8.self) + "\""
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 60 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            && !text.contains("=?")
    }

    /// RFC 2047 encoded words, short enough for a line with its field name; none splits a
    /// character.
    private static func encoded(_ text: String) -> String {
        if isPlain(text) { return text }
        var words: [String] = []
        var word: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = DisplayText.isDeceptive(scalar) ? [0x20] : Array(String(scalar).utf8)
            if word.count + bytes.count > 36 {
                words.append("=?UTF-8?B?\(Base64.encode(word))?=")
                word = []
            }
            word += bytes
        }
        words.append("=?UTF-8?B?\(Base64.encode(word))?=")
        return words.joined(separator: "\r\n ")
    }

    private static func base64Lines(_ text: String) -> String {
        // Base64 keeps line ends, and a mail's are CRLF.
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte == 0x0A, bytes.last != 0x0D { bytes.append(0x0D) }
            bytes.append(byte)
        }
        let encoded = Array(Base64.encode(bytes).utf8)
        return stride(from: 0, to: encoded.count, by: 76).map {
            String(decoding: encoded[$0..<min($0 + 76, encoded.count)], as: UTF8.self)
        }.joined(separator: "\r\n")
    }
}
