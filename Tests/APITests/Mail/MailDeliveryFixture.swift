import API
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Storage
import TestSupport
import Testing
import Text

/// The tenant `acme`, a real SMTP listener, and a key of the pipe that hands in what came back.
struct MailDeliveryFixture {
    let service: TestService
    let sink: SMTPSink
    let pipe: String
    /// Outlives a console session.
    let key: String

    static let invites = "/v1/tenants/acme/invites"

    static func make(
        clock: @escaping @Sendable () -> Timestamp = TestClock.slow()
    ) async throws -> Self {
        let sink = SMTPSink()
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))),
            clock: clock)
        try await service.makeTenant("acme")
        func key(_ scopes: String) async throws -> String {
            let made = try await service.manage(
                .post, "/v1/api-keys", #"{"name":"k","scopes":[\#(scopes)]}"#)
            return try #require(made["key"]?.string)
        }
        return Self(
            service: service, sink: sink, pipe: try await key(#""mail:bounces""#),
            key: try await key(
                #""invites:read","invites:write","audit:read","users:read","users:write""#))
    }

    func send(_ method: Method, _ path: String, _ json: String? = nil) async throws -> TestAnswer {
        try await service.send(method, path, json: json, as: .bearer(key))
    }

    func invite(_ email: String) async throws -> String {
        let made = try await send(.post, Self.invites, #"{"email":"\#(email)"}"#)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["delivery_status"]?.string == "queued")
        return try #require(made.json["id"]?.string)
    }

    func carry() async throws {
        let sender = try #require(service.composition.mailSender)
        while try await sender.round() > 0 {}
    }

    /// The status, and the detail if there is one.
    func told(_ id: String) async throws -> [String] {
        let invite = try await send(.get, "\(Self.invites)/\(id)").json
        return [invite["delivery_status"]?.string ?? "none", invite["delivery_detail"]?.string]
            .compactMap(\.self)
    }

    /// The ids that a list finds.
    func listed(_ query: String) async throws -> [String] {
        let answer = try await send(.get, "\(Self.invites)?\(query)")
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["items"]?.array ?? []).compactMap { $0["id"]?.string }
    }

    /// The envelope's sender of the newest mail.
    func returnPath() throws -> String {
        String(try #require(sink.mails.last).from.dropFirst().dropLast())
    }

    /// A report, delivered to the address.
    static func report(
        to address: String, action: String = "failed", status: String = "5.1.1",
        words: String = "550 5.1.1 no such user"
    ) -> String {
        """
        X-Original-To: \(address)
        From: MAILER-DAEMON@mail.example
        Content-Type: multipart/report; report-type=delivery-status; boundary="b"

        --b
        Content-Type: message/delivery-status

        Reporting-MTA: dns; mail.example

        Final-Recipient: rfc822; someone@else.example
        Action: \(action)
        Status: \(status)
        Diagnostic-Code: smtp; \(words)

        --b--
        """
    }

    func hand(
        _ message: String, with key: String? = nil, type: String = "message/rfc822"
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/mail/bounces", json: message, as: .bearer(key ?? pipe),
            fields: [Field("content-type", type)])
    }

    func result(_ message: String) async throws -> String? {
        let answer = try await hand(message)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["result"]?.string
    }
}
