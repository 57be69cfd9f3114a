import CCurl
import Glibc
import HTTP
import Runtime
import Synchronization
import Text

/// Why the mail server did not accept a mail.
package struct MailFailure: Error, Sendable {
    /// Whether a retry would be useless, because the server refused this mail for good: with a code
    /// of 500 or above, except the code for wrong credentials.
    package var isFinal: Bool
    /// The reason that libcurl gives, followed by the server's last refusing reply, if there is
    /// one. The text is one line without control characters.
    package var words: String
    /// The server's last refusing reply, without libcurl's reason; `nil` if there is none. The text
    /// is one line without control characters.
    package var reply: String?

    init(isFinal: Bool, words: String, reply: String? = nil) {
        self.isFinal = isFinal
        self.words = words
        self.reply = reply
    }
}

/// The operator's SMTP server (RFC 5321): `smtp://` with STARTTLS, or `smtps://`.
package final class MailServer: Sendable {
    /// How many mails are sent at the same time, each over its own connection.
    package static let connections = 4
    static let queueLimit = 64
    /// The time limit for sending one mail, connecting included.
    static let total: Duration = .seconds(30)

    private let url: String
    private let authorities: String?
    private let workers = WorkerPool(
        threads: MailServer.connections, queueLimit: MailServer.queueLimit)

    /// Open connections that no mail uses now; the next mails reuse them.
    private let idle = Mutex<[IdleHandle]>([])

    /// Makes a client for the server at `url`. A user and a password in the URL are sent only under
    /// TLS, unless the server is on this machine. `authorities` is the PEM of the certificate
    /// authorities to trust instead of the system's.
    package init(url: String, authorities: String? = nil) {
        self.url = url
        self.authorities = authorities
    }

    package func send(_ message: MailMessage) async throws(MailFailure) {
        let (url, authorities) = (url, authorities)
        let result = await workers.run { [self] () -> Result<Void, MailFailure> in
            Result { () throws(MailFailure) in
                let kept = idle.withLock { $0.popLast() }?.handle
                guard let handle = kept ?? CurlHandle() else {
                    throw MailFailure(isFinal: false, words: "no memory")
                }
                handle.reset()
                try MailTransfer(message).run(url, authorities: authorities, handle)
                idle.withLock { $0.append(IdleHandle(handle: handle)) }
            }
        }
        guard let result else {
            throw MailFailure(isFinal: false, words: "too many mails are waiting")
        }
        try result.get()
    }
}

extension MailServer {
    package func closeIdle() { idle.withLock { $0 = [] } }

    /// `@unchecked Sendable`: a handle is used only by the thread that has taken it out of `idle`.
    private struct IdleHandle: @unchecked Sendable { let handle: CurlHandle }
}

/// The transfer of one mail. `run` blocks the thread that calls it. libcurl calls back into this
/// object only during `run`.
private final class MailTransfer {
    private let from: String
    private let to: String
    private var rest: ArraySlice<UInt8>
    /// The last reply with which the server refused something; its lines are joined. A later reply
    /// that refuses nothing does not replace it.
    private var refusal: [UInt8] = []
    /// Whether the refusing reply continues on the next line (`550-…`).
    private var goesOn = false
    /// How many bytes of a refusing reply are kept.
    private static let replyLimit = 2000

    init(_ message: MailMessage) {
        from = message.returnPath ?? MailMessage.address(message.from)
        to = MailMessage.address(message.to)
        rest = message.bytes[...]
    }

    func run(_ url: String, authorities: String?, _ handle: CurlHandle) throws(MailFailure) {
        prepare(url, authorities: authorities, handle)
        let code = curl_easy_perform(handle.raw)
        guard code != CURLE_OK else { return }
        // The code 535 means wrong credentials. That is a fault of the settings, which the operator
        // may correct, so the mail is tried again.
        let isFinal = refusal.first == UInt8(ascii: "5") && !refusal.starts(with: "535".utf8)
        let reply = refusal.isEmpty ? nil : DisplayText.escaped(refusal, to: 300)
        throw MailFailure(isFinal: isFinal, words: words(code), reply: reply)
    }

    private func prepare(_ url: String, authorities: String?, _ handle: CurlHandle) {
        _ = handle.setTimeouts(
            until: ContinuousClock.now + MailServer.total, connecting: .seconds(10))
        handle.set(CURLOPT_URL, url)
        handle.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        handle.set(CURLOPT_USE_SSL, Self.needsTLS(url) ? 3 : 1)
        if let authorities { handle.set(CURLOPT_CAINFO, authorities) }
        handle.set(CURLOPT_MAIL_FROM, "<\(from)>")
        handle.set(CURLOPT_MAIL_RCPT, ["<\(to)>"])
        handle.set(CURLOPT_UPLOAD, 1)
        handle.set(CURLOPT_READDATA, to: self)
        handle.set(CURLOPT_READFUNCTION) { buffer, _, count, object in
            MailTransfer.at(object)?.give(buffer, count) ?? 0
        }
        handle.set(CURLOPT_HEADERDATA, to: self)
        handle.set(CURLOPT_HEADERFUNCTION) { bytes, _, count, object in
            MailTransfer.at(object)?.hear(UnsafeRawBufferPointer(start: bytes, count: count))
            return count
        }
    }

    private static func at(_ object: UnsafeMutableRawPointer?) -> MailTransfer? {
        object.map { Unmanaged<MailTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func give(_ buffer: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int {
        guard let buffer else { return 0 }
        let piece = rest.prefix(room)
        UnsafeMutableRawBufferPointer(start: buffer, count: room).copyBytes(from: piece)
        rest = rest.dropFirst(piece.count)
        return piece.count
    }

    /// Whether the connection must use TLS: the URL contains a user, and the server is not on this
    /// machine.
    private static func needsTLS(_ text: String) -> Bool {
        guard let url = curl_url() else { return true }
        defer { curl_url_cleanup(url) }
        func part(_ which: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(url, which, &text, 0) == CURLUE_OK, let text else { return nil }
            defer { curl_free(text) }
            return String(cString: text)
        }
        guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK else { return true }
        guard part(CURLUPART_USER) != nil else { return false }
        let host = part(CURLUPART_HOST) ?? ""
        return !(host == "localhost" || IPAddress(host)?.isLoopback ?? false)
    }

    private func hear(_ line: UnsafeRawBufferPointer) {
        guard let first = line.first, first == UInt8(ascii: "4") || first == UInt8(ascii: "5")
        else { return }
        var text = line[...]
        while let last = text.last, last == 0x0D || last == 0x0A { text = text.dropLast() }
        // Each line repeats the reply code and the hyphen or space after it, so leave out these
        // four bytes.
        refusal = goesOn ? refusal + [0x20] + text.dropFirst(4) : Array(text)
        refusal = Array(refusal.prefix(Self.replyLimit))
        goesOn = text.count > 3 && text[text.startIndex + 3] == UInt8(ascii: "-")
    }

    private func words(_ code: CURLcode) -> String {
        let reason = String(cString: curl_easy_strerror(code))
        let line = refusal.prefix(300).filter { (0x20...0x7E).contains($0) }
        return line.isEmpty ? reason : "\(reason): \(String(decoding: line, as: UTF8.self))"
    }
}

/// A mail with a plain-text and an HTML part, and its bytes for SMTP (RFC 5322, 2045, 2047). No
/// text in it can add a header line.
package struct MailMessage: Sendable {
    var from: EmailAddress
    var fromName: String
    var to: EmailAddress
    var subject: String
    var text: String
    var html: String
    /// The id in the Message-ID header, by which a repeated delivery is recognised.
    package var id: UUID
    var date: Timestamp
    /// The sender address in the SMTP envelope, to which an undeliverable mail is returned; `nil`
    /// means `from`.
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

    /// Returns the local part as typed and the domain as A-labels. The whole address is ASCII, so
    /// no quoting is needed.
    static func address(_ email: EmailAddress) -> String {
        let local = email.original.utf8.prefix { $0 != UInt8(ascii: "@") }
        return String(decoding: local, as: UTF8.self) + "@" + email.domain.ascii
    }

    /// The date, as `Sun, 06 Nov 1994 08:49:37 +0000`.
    private var dateText: String {
        HTTPDate.text(date.microseconds / 1_000_000).dropLast(3) + "+0000"
    }

    /// Returns a display name: in quotes if it is plain ASCII, else as encoded words.
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

    /// Returns RFC 2047 encoded words. Each is short enough for a line that begins with the field's
    /// name, and no character is split between two words.
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
        // Base64 preserves line ends, and the line ends of a mail must be CRLF.
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
