import CCurl
import Glibc
import Synchronization
import Text
import Workers

/// Why the mail server did not accept a mail.
package struct MailFailure: Error, Sendable {
    /// A retry will not help: the server refused this mail (a code of 500 and above).
    package var isFinal: Bool
    /// The server's last reply, or the obstacle; one line, without control characters.
    package var words: String
    /// The server's last reply alone; nil if it gave none. One line, without control characters.
    package var reply: String?

    package init(isFinal: Bool, words: String, reply: String? = nil) {
        self.isFinal = isFinal
        self.words = words
        self.reply = reply
    }
}

/// The SMTP server of the settings (RFC 5321): `smtp://` with STARTTLS, `smtps://`.
package final class MailServer: Sendable {
    /// Concurrent mails, each over its own connection.
    package static let connections = 4
    package static let queueLimit = 64
    /// For one mail, connecting included.
    package static let total: Duration = .seconds(30)

    private let url: String
    private let authorities: String?
    private let workers = WorkerPool(
        threads: MailServer.connections, queueLimit: MailServer.queueLimit)

    /// Open connections for the next mails.
    private let idle = Mutex<[IdleHandle]>([])

    /// `url` may contain a user and a password, which are sent under TLS only, unless the server is
    /// on this machine. `authorities`: PEM to trust instead of the system's.
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

    /// `@unchecked`: only the thread that took a handle out of the list uses it.
    private struct IdleHandle: @unchecked Sendable { let handle: CurlHandle }
}

/// One mail on the thread that calls `run`; libcurl calls back into it during that call alone.
private final class MailTransfer {
    private let from: String
    private let to: String
    private var rest: ArraySlice<UInt8>
    /// The last refusing reply of the server, its lines joined; what follows is goodbye.
    private var refusal: [UInt8] = []
    /// Whether that reply has another line (`550-…`).
    private var goesOn = false
    /// Bytes of a reply that are kept.
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
        // Wrong credentials are a fault of the settings and may be corrected meanwhile, so retry.
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

    /// A password without TLS is sent to this machine only.
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
        // The code and its sign stand on each line.
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
