import Synchronization

/// A real SMTP listener that keeps its mails or, on demand, refuses recipients.
package final class SMTPSink: Sendable {
    package struct Mail: Sendable {
        package var from: String
        package var to: [String]
        /// With dots unstuffed, lines ended by LF.
        package var data: String

        /// A header field, folded lines joined.
        package func header(_ name: String) -> String? {
            var found: String?
            for line in data.split(separator: "\n", omittingEmptySubsequences: false) {
                if line.isEmpty { break }
                if let text = found {
                    guard line.hasPrefix(" ") else { return text }
                    found = text + line
                } else if line.lowercased().hasPrefix(name.lowercased() + ": ") {
                    found = String(line.dropFirst(name.count + 2))
                }
            }
            return found
        }

        /// The decoded parts: plain, HTML.
        package var parts: [String] {
            let boundary = header("Content-Type")?.split(separator: "\"").dropFirst().first ?? "?"
            return data.split(separator: "--\(boundary)\n").dropFirst().map { part in
                let body = part.split(separator: "\n\n", maxSplits: 1).last ?? ""
                let lines = body.split(separator: "\n").prefix { !$0.hasPrefix("--") }
                return String(decoding: Self.decoded(lines.joined()), as: UTF8.self)
            }
        }

        private static func decoded(_ text: String) -> [UInt8] {
            let alphabet = Array(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
            var bytes: [UInt8] = []
            var (buffer, bits) = (UInt32(0), UInt32(0))
            for byte in text.utf8 {
                guard let value = alphabet.firstIndex(of: byte) else { break }
                buffer = buffer << 6 | UInt32(value)
                bits += 6
                if bits >= 8 {
                    bits -= 8
                    bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
                }
            }
            return bytes
        }
    }

    private final class State: Sendable {
        let mails = Mutex<[Mail]>([])
        let refusal = Mutex<String?>(nil)
    }

    private let state = State()
    private let listener: ScriptedListener
    package var url: String { "smtp://127.0.0.1:\(listener.port)" }

    package init() {
        let state = state
        listener = ScriptedListener { Self.serve($0, state) }
    }

    package func stop() { listener.stop() }

    package var mails: [Mail] { state.mails.withLock { $0 } }

    /// The answer to every recipient from now on; `nil` accepts them.
    package func refuse(_ answer: String?) { state.refusal.withLock { $0 = answer } }

    private static func serve(_ connection: ScriptedConnection, _ state: State) {
        connection.send("220 sink ESMTP\r\n")
        var mail = Mail(from: "", to: [], data: "")
        while let line = connection.read(until: "\r\n") {
            let word = line.prefix(4).uppercased()
            switch word {
            case "EHLO", "HELO": connection.send("250 sink\r\n")
            case "MAIL":
                mail = Mail(
                    from: String(line.dropFirst(10).prefix { $0 != ">" }) + ">", to: [], data: "")
                connection.send("250 ok\r\n")
            case "RCPT":
                if let refusal = state.refusal.withLock({ $0 }) {
                    connection.send(refusal + "\r\n")
                } else {
                    mail.to.append(String(line.dropFirst(8).prefix { $0 != ">" }) + ">")
                    connection.send("250 ok\r\n")
                }
            case "DATA":
                connection.send("354 go\r\n")
                while let text = connection.read(until: "\r\n"), text != ".\r\n" {
                    let line = text.hasPrefix(".") ? text.dropFirst() : text[...]
                    mail.data += line.replacing("\r\n", with: "") + "\n"
                }
                state.mails.withLock { $0.append(mail) }
                connection.send("250 kept\r\n")
            case "QUIT":
                connection.send("221 bye\r\n")
                return
            default: connection.send("250 ok\r\n")
            }
        }
    }
}
