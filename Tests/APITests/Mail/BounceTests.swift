import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// What the endpoint for returned mail takes, and from whom.
@Suite(.cleansUp) struct BounceTests {
    private typealias Fixture = MailDeliveryFixture

    /// A sent invite and its return address.
    private func sent(_ fixture: Fixture) async throws -> (id: String, path: String) {
        let id = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        return (id, try fixture.returnPath())
    }

    @Test func `a message that is not a report changes nothing`() async throws {
        let fixture = try await Fixture.make()
        let (id, path) = try await sent(fixture)
        let report = Fixture.report(to: path)
        for message in [
            "X-Original-To: \(path)\nSubject: Away\n\nAction: failed\nStatus: 5.1.1\n",
            "X-Original-To: \(path)\nContent-Type: text/plain\n\n\(report)",
            report.replacing("Action: failed", with: "Action: delivered"),
            report.replacing("multipart/report", with: "multipart/mixed"),
        ] {
            #expect(try await fixture.result(message) == "ignored")
        }
        #expect(try await fixture.told(id) == ["sent"])
    }

    @Test func `only the address to which it was delivered names the mail`() async throws {
        let fixture = try await Fixture.make()
        let (id, path) = try await sent(fixture)
        let other = String(path.map { $0 == "+" ? "+" : $0 }).replacing(
            path.split(separator: "@")[0].suffix(4), with: "0000")
        let guessed = Fixture.report(to: other)
            .replacing("someone@else.example", with: path)
            .replacing(
                "From: MAILER", with: "X-Original-To: \(path)\nDelivered-To: \(path)\nFrom: MAILER")
        #expect(try await fixture.result(guessed) == "unknown")
        #expect(try await fixture.told(id) == ["sent"])
        let delivered = Fixture.report(to: path).replacing("X-Original-To", with: "Delivered-To")
        #expect(
            try await fixture.result("From MAILER-DAEMON Wed Nov 25\n" + delivered) == "bounced")
    }

    @Test func `a message without a return address is a fault of the pipe`() async throws {
        let fixture = try await Fixture.make()
        for message in [
            "", "Subject: x\n\ny", "X-Original-To: postmaster@mail.example\n\nx",
            Fixture.report(to: "bounce+@mail.example"),
            Fixture.report(to: "bounce+0000@mail.example"),
            Fixture.report(to: "bounce+" + String(repeating: "g", count: 44) + "@mail.example"),
            Fixture.report(to: "bounce+" + String(repeating: "0", count: 46) + "@mail.example"),
        ] {
            #expect(try await fixture.hand(message).status == 422, "\(message)")
        }
        for token in [String(repeating: "0", count: 44), String(repeating: "f", count: 44)] {
            let address = "bounce+\(token)@mail.example"
            #expect(try await fixture.result(Fixture.report(to: address)) == "unknown")
        }
    }

    @Test func `a return address leads only to its own tenant`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.service.makeTenant("other")
        let (id, path) = try await sent(fixture)
        let made = try await fixture.service.manage(
            .post, "/v1/tenants/other/invites", #"{"email":"ann@example.com"}"#)
        try await fixture.carry()
        let others = try fixture.returnPath()
        // The locator of the one with the random bits of the other.
        let mixed = String(path.prefix(19)) + String(others.dropFirst(19))
        #expect(try await fixture.result(Fixture.report(to: mixed)) == "unknown")
        #expect(try await fixture.result(Fixture.report(to: others)) == "bounced")
        #expect(try await fixture.told(id) == ["sent"])
        #expect(made["delivery_status"]?.string == "queued")
    }

    @Test func `the body is bounded, and its type is a message's`() async throws {
        let fixture = try await Fixture.make()
        let (_, path) = try await sent(fixture)
        let long = Fixture.report(to: path) + String(repeating: "x", count: 256 << 10)
        #expect(try await fixture.hand(long).status == 413)
        let cut = String(decoding: Array(long.utf8).prefix(256 << 10), as: UTF8.self)
        #expect(try await fixture.result(cut) == "bounced")
        let json = try await fixture.service.send(
            .post, "/v1/mail/bounces", json: "{}", as: .bearer(fixture.pipe))
        #expect(json.status == 415)
        let bytes = try await fixture.hand(
            Fixture.report(to: path), type: "application/octet-stream")
        #expect(bytes.json["result"]?.string == "outdated", "\(bytes.text)")
    }

    @Test func `the scope works only with the platform's keys and gives nothing else`()
        async throws
    {
        let fixture = try await Fixture.make()
        let (_, path) = try await sent(fixture)
        #expect(try await fixture.hand(Fixture.report(to: path), with: fixture.key).status == 403)
        let at = try await fixture.service.send(
            .post, "/v1/tenants/acme/api-keys", json: #"{"name":"k","scopes":["mail:bounces"]}"#,
            as: .platformOwner)
        let tenants = try #require(at.json["key"]?.string, "\(at.text)")
        #expect(try await fixture.hand(Fixture.report(to: path), with: tenants).status == 403)
        let read = try await fixture.service.send(
            .get, Fixture.invites, as: .bearer(fixture.pipe))
        #expect(read.status == 403)
    }
}
