import Outbound
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct MailTests {
    private func message(
        name: String = "Acme", subject: String = "Hello", text: String = "Hi.\n",
        to: String = "Ann@Bücher.example"
    ) throws -> MailMessage {
        MailMessage(
            from: try EmailAddress("gate@mail.example"), fromName: name, to: try EmailAddress(to),
            subject: subject, text: text, html: "<p>\(text)</p>", id: UUID.random(),
            date: Timestamp(microseconds: 784_111_777_000_000))
    }

    @Test func `a mail arrives with both parts as they were written`() async throws {
        let sink = SMTPSink()
        let text = ".leading dot\nüñï – ✓\n..\n" + String(repeating: "long ", count: 400)
        let sent = try message(text: text)
        try await MailServer(url: sink.url).send(sent)
        let mail = try #require(sink.mails.first)
        #expect(mail.from == "<gate@mail.example>")
        #expect(mail.to == ["<Ann@xn--bcher-kva.example>"])
        #expect(mail.header("From") == "\"Acme\" <gate@mail.example>")
        #expect(mail.header("To") == "<Ann@xn--bcher-kva.example>")
        #expect(mail.header("Date") == "Sun, 06 Nov 1994 08:49:37 +0000")
        #expect(mail.header("Message-ID") == "<\(sent.id)@mail.example>")
        #expect(mail.parts.first == text.replacing("\n", with: "\r\n"))
        #expect(mail.parts.count == 2)
        #expect(mail.data.split(separator: "\n").allSatisfy { $0.utf8.count <= 998 })
    }

    @Test func `no text makes a header line of its own`() throws {
        let evil = "x\r\nBcc: victim@example.com\r\n\r\nbody"
        for one in [
            try message(name: evil), try message(subject: evil),
            try message(subject: "a\u{85}b\u{0}"),
        ] {
            let lines = String(decoding: one.bytes, as: UTF8.self).split(separator: "\r\n")
            #expect(!lines.contains { $0.lowercased().hasPrefix("bcc") })
            #expect(one.bytes.allSatisfy { $0 == 0x0D || $0 == 0x0A || (0x20...0x7E).contains($0) })
        }
    }

    @Test func `names beyond ASCII become encoded words that cut no character`() throws {
        let name = String(repeating: "Größe 😀 ", count: 20)
        let head = String(decoding: try message(name: name, subject: name).bytes, as: UTF8.self)
        let words = head.split(separator: "?B?").dropFirst().compactMap {
            $0.split(separator: "?=").first
        }
        #expect(words.count >= 8)
        for line in head.split(separator: "\r\n").prefix(20) { #expect(line.utf8.count <= 78) }
        let plain = try message(name: "A \"B\" \\ C", subject: "=?UTF-8?B?eA==?=")
        let text = String(decoding: plain.bytes, as: UTF8.self)
        #expect(text.hasPrefix(#"From: "A \"B\" \\ C""# + "\r\n <"))
        #expect(!text.contains("Subject: =?UTF-8?B?eA==?="))
    }

    @Test func `a refusal tells whether trying again may help, in the server's words`() async throws
    {
        let sink = SMTPSink()
        let server = MailServer(url: sink.url)
        for (answer, isFinal) in [("550 5.1.1 no such mailbox", true), ("451 4.7.1 later", false)] {
            sink.refuse(answer)
            do {
                try await server.send(try message())
                Issue.record("taken")
            } catch let failure as MailFailure {
                #expect(failure.isFinal == isFinal)
                #expect(failure.words.contains(answer), "\(failure.words)")
            }
        }
        #expect(sink.mails.isEmpty)
    }

    @Test func `a mail to an unreachable server is not delivered`()
        async throws
    {
        let sink = SMTPSink()
        sink.stop()
        do {
            try await MailServer(url: sink.url).send(try message())
            Issue.record("taken")
        } catch let failure as MailFailure { #expect(!failure.isFinal) }
    }
}
