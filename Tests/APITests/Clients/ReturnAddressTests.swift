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

/// `return_to` of invites, resets and join links: one of the redirect addresses of the tenant's clients.
@Suite(.cleansUp) struct ReturnAddressTests {
    private static let app = "app.immich:///welcome"
    private static let site = "https://app.example/in?from=a&to=b"
    private static let password = "a sentence that is long"

    private struct Fixture {
        let service: TestService
        let sink: SMTPSink
        let user: UserRow

        init() async throws {
            sink = SMTPSink()
            service = try await TestService.make(
                externalServices: ExternalServices(
                    mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))))
            let tenant = try await service.makeTenant("acme")
            user = try await service.makeUser(
                "ann@ex.com", name: "Ann", password: "correct horse battery", in: tenant)
            try await list([ReturnAddressTests.app, ReturnAddressTests.site])
            // A client that is off lends no address.
            try await service.manage(
                .put, "/v1/tenants/acme/clients/relate",
                #"{"enabled":false,"redirect_uris":["https://off.example/"]}"#)
        }

        func list(_ addresses: [String]) async throws {
            let list = addresses.map { "\"\($0)\"" }.joined(separator: ",")
            try await service.manage(
                .put, "/v1/tenants/acme/clients/immich",
                #"{"enabled":true,"redirect_uris":[\#(list)]}"#)
        }

        func post(_ path: String, _ json: String) async throws -> TestAnswer {
            try await service.send(.post, path, json: json, as: .platformOwner)
        }

        func reset(_ token: String) async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/password-resets/confirm",
                json: #"{"token":"\#(token)","password":"\#(ReturnAddressTests.password)"}"#)
        }
    }

    private func token(_ url: String?) -> String {
        url?.split(separator: "#token=").last.map(String.init) ?? ""
    }

    @Test(arguments: [
        "https://app.example/in", "https://app.example/in?from=a&to=b&x",
        "https://stranger.example/",
        "https://off.example/", "APP.immich:///welcome",
    ])
    func `an address that no enabled client has byte for byte is refused everywhere`(
        address: String
    ) async throws {
        let fixture = try await Fixture()
        let acme = "/v1/tenants/acme"
        for (path, body) in [
            ("\(acme)/invites", #""email":"bo@ex.com","#), ("\(acme)/join-links", ""),
            ("\(acme)/users/\(fixture.user.id)/password-link", ""),
            ("/v1/password-resets", #""email":"ann@ex.com","tenant":"acme","#),
            ("/v1/password-resets", #""email":"ann@ex.com","tenant":"nobody","#),
            ("/v1/password-resets", #""email":"ann@ex.com","#),
        ] {
            let answer = try await fixture.post(path, #"{\#(body)"return_to":"\#(address)"}"#)
            #expect(answer.status == 422, "\(path) \(answer.text)")
            let error = answer.json["errors"]?.array?.first
            #expect(error?["pointer"]?.string == "/return_to")
            #expect(error?["code"]?.string == "not_allowed")
        }
    }

    @Test func `an address that could run code or is none is refused by its form`() async throws {
        let fixture = try await Fixture()
        for address in ["javascript:alert(1)", "data:text/html,x", "/here", "https://a@b.example/"]
        {
            let answer = try await fixture.post(
                "/v1/tenants/acme/join-links", #"{"return_to":"\#(address)"}"#)
            #expect(answer.status == 422, "\(answer.text)")
        }
    }

    @Test func `an invite leads back after its acceptance, while the clients have the address`()
        async throws
    {
        let fixture = try await Fixture()
        func invite(_ email: String, _ address: String) async throws -> TestAnswer {
            try await fixture.post(
                "/v1/tenants/acme/invites",
                #"{"email":"\#(email)","delivery":"link","return_to":"\#(address)"}"#)
        }
        func accept(_ token: String?) async throws -> JSONValue? {
            try await fixture.post(
                "/v1/invites/accept",
                #"{"token":"\#(token ?? "")","password":"\#(Self.password)","name":"Bo"}"#
            ).json["return_to"]
        }
        let made = try await invite("bo@ex.com", Self.app)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["return_to"]?.string == Self.app)
        let id = made.json["id"]?.string ?? ""
        let changed = try await fixture.service.send(
            .patch, "/v1/tenants/acme/invites/\(id)", json: #"{"return_to":"\#(Self.site)"}"#,
            as: .platformOwner)
        #expect(changed.status == 422)
        #expect(try await accept(made.json["token"]?.string)?.string == Self.app)
        let other = try await invite("cy@ex.com", Self.site)
        try await fixture.list([Self.app])
        #expect(try await accept(other.json["token"]?.string)?.isNull == true)
        let list = try await fixture.post(
            "/v1/tenants/acme/invites",
            #"{"invites":[{"email":"d@ex.com","return_to":"\#(Self.site)"},"#
                + #"{"email":"e@ex.com","return_to":"\#(Self.app)"}]}"#)
        let results = (list.json["results"]?.array ?? []).map { $0["result"]?.string }
        #expect(results == ["refused", "created"], "\(list.text)")
    }

    @Test func `sent again an invite keeps its address, or gets the new one`() async throws {
        let fixture = try await Fixture()
        func invite(_ more: String) async throws -> String? {
            try await fixture.post(
                "/v1/tenants/acme/invites",
                #"{"email":"bo@ex.com","delivery":"link"\#(more)}"#
            ).json["return_to"]?.string
        }
        #expect(try await invite(#","return_to":"\#(Self.app)""#) == Self.app)
        #expect(try await invite(#","resend":true"#) == Self.app)
        #expect(try await invite(#","resend":true,"return_to":"\#(Self.site)""#) == Self.site)
    }

    @Test func `an operator's link for a password leads back, and without an address nowhere`()
        async throws
    {
        let fixture = try await Fixture()
        let path = "/v1/tenants/acme/users/\(fixture.user.id)/password-link"
        let made = try await fixture.post(path, #"{"return_to":"\#(Self.site)"}"#)
        #expect(made.status == 201, "\(made.text)")
        let done = try await fixture.reset(token(made.json["url"]?.string))
        #expect(done.status == 200, "\(done.text)")
        #expect(done.json == .object([.init("return_to", .string(Self.site))]))
        #expect(done.first("cache-control") == "no-store")
        let plain = try await fixture.service.send(.post, path, as: .platformOwner)
        #expect(try await fixture.reset(token(plain.json["url"]?.string)).status == 204)
        let removed = try await fixture.post(path, #"{"return_to":"\#(Self.site)"}"#)
        try await fixture.list([])
        #expect(try await fixture.reset(token(removed.json["url"]?.string)).status == 204)
    }

    @Test func `a mailed reset leads back to the app that asked for it`() async throws {
        let fixture = try await Fixture()
        let asked = try await fixture.post(
            "/v1/password-resets",
            #"{"email":"ann@ex.com","tenant":"acme","return_to":"\#(Self.app)"}"#)
        #expect(asked.status == 202, "\(asked.text)")
        try await fixture.service.composition.resetAnswers.round()
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
        let text = try #require(fixture.sink.mails.first?.parts.first)
        #expect(!text.contains(Self.app))
        let rest = text.split(separator: "#token=").dropFirst().first ?? ""
        let done = try await fixture.reset(String(rest.prefix { !$0.isWhitespace }))
        #expect(done.json["return_to"]?.string == Self.app, "\(done.text)")
    }
}
