import Testing
import Text

/// Reports in the form of four mail systems, and messages that are none or want to be more.
@Suite struct DeliveryReportTests {
    private func read(_ text: String, lineEnd: String = "\r\n") -> DeliveryReport? {
        DeliveryReport(MessagePart(Array(text.replacing("\n", with: lineEnd).utf8)[...]))
    }

    @Test(arguments: ["\r\n", "\n"])
    func `a report of Postfix names the server that refused, with its message`(
        lineEnd: String
    ) {
        let report = read(MailSystems.postfix, lineEnd: lineEnd)
        #expect(report?.action == .failed)
        #expect(
            report?.words
                == "550 5.1.1 <ann@gone.example>: Recipient address rejected: no such user")
    }

    @Test func `Exim, whose boundary has no quotes`() {
        let report = read(MailSystems.exim)
        #expect(report?.action == .failed)
        #expect(report?.words == "550 5.7.1 Relaying denied")
    }

    @Test func `Exchange, with a folded diagnostic of several lines`() {
        let report = read(MailSystems.exchange)
        #expect(report?.action == .failed)
        #expect(
            report?.words.hasPrefix("550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not")
                == true)
        #expect(report?.words.contains("\n") == false)
    }

    @Test func `Gmail, which sends the part for people as a tree of its own`() {
        let report = read(MailSystems.gmail)
        #expect(report?.action == .failed)
        #expect(
            report?.words.hasPrefix("550-5.1.1 The email account that you tried to reach") == true)
    }

    @Test func `a delay is no failure`() {
        let report = read(
            MailSystems.postfix.replacing("Action: failed", with: "Action: delayed")
                .replacing("Status: 5.1.1", with: "Status: 4.4.1"))
        #expect(report?.action == .delayed)
    }

    @Test func `a mail system that gave up after days of passing failures failed`() {
        #expect(
            read(MailSystems.postfix.replacing("Status: 5.1.1", with: "Status: 4.4.1"))?.action
                == .failed)
    }

    @Test(arguments: [
        ("Action: failed", "Action: delivered"), ("Action: failed", "Action: relayed"),
        ("Action: failed", "Action: expanded"), ("Action: failed", "Action: failed?"),
        ("Status: 5.1.1", "Status: 2.0.0"), ("Status: 5.1.1", "Status: 5.1"),
        ("Status: 5.1.1", "Status: 55.1.1"), ("Status: 5.1.1", "Status: 5.1.x"),
        ("Status: 5.1.1", "X-Status: 5.1.1"),
    ]) func `only failed with a status of its class tells a failure`(
        change: (String, String)
    ) {
        #expect(read(MailSystems.postfix.replacing(change.0, with: change.1))?.action == .other)
    }

    @Test func `a mail that reached one of an alias's recipients did not come back`() {
        let other = "\nFinal-Recipient: rfc822; bob@gone.example\nAction: %\nStatus: 5.1.1\n\n--B-O"
        func with(_ action: String) -> DeliveryReport? {
            read(
                MailSystems.postfix.replacing(
                    "\n--B-OUND/1\nContent-Description: Undelivered",
                    with:
                        other.replacing("%", with: action)
                        + "UND/1\nContent-Description: Undelivered"))
        }
        #expect(with("failed")?.action == .failed)
        #expect(with("delivered")?.action == .other)
        #expect(with("delayed")?.action == .delayed)
    }

    @Test(arguments: [
        "", "\n", "no header", "Subject: Out of office\n\nI am away until Monday. Action: failed\n",
        // A text that quotes a report.
        "Content-Type: text/plain\n\n" + MailSystems.postfix,
        MailSystems.postfix.replacing("multipart/report;", with: "multipart/mixed;"),
        MailSystems.postfix.replacing(
            "report-type=delivery-status", with: "report-type=disposition-notification"),
        MailSystems.postfix.replacing(
            "Content-Type: message/delivery-status", with: "Content-Type: text/plain"),
        MailSystems.postfix.replacing("boundary=\"B-OUND/1\"", with: "boundary=\"\""),
        MailSystems.postfix.replacing("boundary=\"B-OUND/1\"", with: "boundary=\"other\""),
        MailSystems.postfix.replacing("Action: failed\n", with: ""),
        MailSystems.postfix.replacing(
            "Content-Type: message/delivery-status",
            with: "Content-Transfer-Encoding: base64\nContent-Type: message/delivery-status"),
    ]) func `anything else is no report`(text: String) {
        #expect(read(text) == nil)
    }

    @Test func `the first report counts, and what is quoted after it does not`() {
        let quoted = MailSystems.postfix.replacing(
            "Subject: You are invited",
            with: "Action: delivered\nStatus: 2.0.0\nSubject: You are invited")
        #expect(read(quoted)?.action == .failed)
        let inner =
            "--B-OUND/1\nContent-Type: message/delivery-status\n\nAction: delivered\nStatus: 2.0.0\n"
        #expect(
            read(MailSystems.postfix.replacing("--B-OUND/1--", with: inner + "\n--B-OUND/1--"))?
                .action == .failed)
    }

    @Test func `a report whose quoted mail is cut off is still accepted`() {
        let cut = MailSystems.postfix.split(separator: "Subject: You are invited")[0]
        #expect(read(String(cut))?.action == .failed)
    }

    @Test func `words are one bounded line without control characters`() {
        let words = "smtp; 550 \u{1B}[31mred\u{7}\u{202E} " + String(repeating: "x", count: 5000)
        let report = read(
            MailSystems.postfix.replacing(
                "smtp; 550 5.1.1 <ann@gone.example>: Recipient address rejected: no such\n    user",
                with: words))
        let shown = report?.words ?? ""
        #expect(shown.hasPrefix(#"550 \u{1B}[31mred\u{7}\u{202E} xxx"#))
        #expect(shown.hasSuffix("x…"))
        #expect(shown.unicodeScalars.count <= DeliveryReport.wordLimit)
    }

    @Test func `without words the status stands for them`() {
        let bare = MailSystems.exchange.split(separator: "Diagnostic-Code:")[0]
        #expect(read(String(bare))?.words == "status 5.1.10")
    }

    @Test func `bytes that are no text, and parts without end, are read in time`() {
        var noise: [UInt8] = Array(
            "Content-Type: multipart/report; report-type=delivery-status; boundary=x\r\n\r\n".utf8)
        while noise.count < 256 << 10 {
            noise += Array("--x\r\n: \u{0}\r\n \r\n\r\n".utf8) + [0xFF, 0xC0]
        }
        let took = ContinuousClock().measure {
            #expect(DeliveryReport(MessagePart(noise[...])) == nil)
        }
        #expect(took < .seconds(2))
        var folded = Array("Content-Type: multipart/report".utf8)
        while folded.count < 256 << 10 { folded += Array(";\r\n\ta=\"\\\"".utf8) }
        #expect(DeliveryReport(MessagePart(folded[...])) == nil)
    }

    @Test func `a line of the mailbox before the header is passed over`() {
        let message = MessagePart(
            Array("From MAILER-DAEMON Mon\nX-Original-To:  <a@b.example>\n\nText".utf8)[...])
        #expect(
            message.first("x-original-to").map { String(decoding: $0, as: UTF8.self) }
                == "<a@b.example>")
        #expect(message.body.elementsEqual("Text".utf8))
    }
}
