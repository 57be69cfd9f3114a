import API
import Domain
import HTTP
import JSON
import TestSupport
import Testing
import Text

/// What a tenant's pages wear: its name and colour in the tenant, its logo by the content's hash.
@Suite(.cleansUp) struct AppearanceTests {
    private static let path = "/v1/tenants/acme"
    private static let drawing =
        #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>"#

    private static func put(
        _ text: String, type: String = "image/svg+xml", _ service: TestService,
        as credential: TestService.Credential = .platformOwner
    ) async throws -> TestAnswer {
        try await service.send(
            .put, "\(path)/logo", bytes: Array(text.utf8), as: credential,
            fields: [Field("content-type", type)])
    }

    @Test func `a new tenant has the appearance that its creation names`() async throws {
        let service = try await TestService.make()
        let made = try await service.send(
            .post, "/v1/tenants",
            json: ##"""
                {"slug":"acme","name":"Acme","appearance":{"name":"Rockets","accent":"#FFD400"}}
                """##,
            as: .platformOwner)
        #expect(made.status == 201 && made.json["appearance"]?["name"] == .string("Rockets"))
        let read = try await service.send(.get, Self.path, as: .platformOwner)
        #expect(read.json["appearance"]?["accent"] == .string("#ffd400"), "\(read.text)")
        let events = try await service.send(
            .get, "\(Self.path)/audit-events?action=tenant.created", as: .platformOwner)
        let changes = events.json["items"]?.array?.first?["changes"]
        #expect(changes?["appearance_name"] == .array([.null, .string("Rockets")]))
    }

    @Test func `name and colour are set, cleared and read back, and go into the audit log`()
        async throws
    {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let none = try await service.send(.get, Self.path, as: .platformOwner)
        #expect(none.json["appearance"]?["name"] == .null)
        let set = try await service.send(
            .patch, Self.path, json: ##"{"appearance":{"name":"Rockets","accent":"#FFD400"}}"##,
            as: .platformOwner)
        #expect(set.json["appearance"]?["name"] == .string("Rockets"), "\(set.text)")
        #expect(set.json["appearance"]?["accent"] == .string("#ffd400"))
        #expect(set.json["appearance"]?["on_accent"] == .string("#000000"))
        // What GET gave may be sent back whole.
        let whole = try await service.send(.patch, Self.path, json: set.text, as: .platformOwner)
        #expect(whole.status == 200 && whole.json["appearance"] == set.json["appearance"])
        let cleared = try await service.send(
            .patch, Self.path, json: #"{"appearance":{"accent":null}}"#, as: .platformOwner)
        #expect(cleared.json["appearance"]?["accent"] == .null)
        #expect(cleared.json["appearance"]?["name"] == .string("Rockets"))
        let events = try await service.send(
            .get, "\(Self.path)/audit-events?action=tenant.updated", as: .platformOwner)
        let changes = try #require(events.json["items"]?.array).compactMap { $0["changes"] }
        #expect(
            changes.last?["appearance_accent"] == .array([.null, .string("#ffd400")]),
            "\(events.text)")
    }

    @Test(arguments: [
        (##"{"accent":"red"}"##, "/appearance/accent"),
        (##"{"accent":"#12345"}"##, "/appearance/accent"),
        (#"{"name":""}"#, "/appearance/name"), ("{\"name\":\"a\u{202E}b\"}", "/appearance/name"),
        (#"{"name":"a\u0007b"}"#, "/appearance/name"),
        (#"{"font":"x"}"#, "/appearance/font"),
    ])
    func `an invalid appearance is refused with its field`(_ body: String, _ pointer: String)
        async throws
    {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let answer = try await service.send(
            .patch, Self.path, json: "{\"appearance\":\(body)}", as: .platformOwner)
        #expect(answer.status == 422)
        #expect(answer.text.contains("\"\(pointer)\""), "\(answer.text)")
    }

    @Test func `a logo is served under its hash to all, as a picture that can do nothing`()
        async throws
    {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let answer = try await Self.put("<!-- x -->" + Self.drawing, service)
        #expect(answer.status == 200, "\(answer.text)")
        let path = try #require(answer.json["appearance"]?["logo_url"]?.string)
        let seen = try await service.send(.get, path)
        #expect(seen.text == Self.drawing)
        for (name, value) in [
            ("content-type", "image/svg+xml"), ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
            ("cache-control", "public, max-age=31536000, immutable"),
        ] { #expect(seen.first(name) == value) }
        // The same again changes nothing; another takes its place; none leaves nothing.
        #expect(try await Self.put(Self.drawing, service).first("etag") == answer.first("etag"))
        let other = try await Self.put(
            Self.drawing.replacing("M0 0", with: "M1 1"), service)
        #expect(try await service.send(.get, path).status == 404)
        let next = try #require(other.json["appearance"]?["logo_url"]?.string)
        let removed = try await service.send(.delete, "\(Self.path)/logo", as: .platformOwner)
        #expect(removed.json["appearance"]?["logo_url"] == .null)
        #expect(try await service.send(.get, next).status == 404)
        #expect(
            try await service.send(.get, "/assets/logos/\(String(repeating: "%", count: 64))")
                .status != 200)
    }

    @Test func `only a picture is accepted, and only from a caller who may change the tenant`()
        async throws
    {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let faults = [
            (try await Self.put("<svg viewBox='0 0 1 1'><script/></svg>", service), 422),
            (try await Self.put("GIF89a", type: "image/png", service), 422),
            (try await Self.put("GIF89a", type: "image/gif", service), 415),
            (try await Self.put("GIF89a", type: "application/octet-stream", service), 422),
            (try await Self.put("", service), 422),
            (try await Self.put(String(repeating: " ", count: 20_481), service), 413),
            (try await Self.put(Self.drawing, service, as: .tenantAdmin(other)), 404),
        ]
        for (answer, status) in faults { #expect(answer.status == status, "\(answer.text)") }
        let tenant = try await service.send(.get, Self.path, as: .platformOwner)
        #expect(tenant.json["appearance"]?["logo_url"] == .null)
        let bytes = try await Self.put(Self.drawing, type: "application/octet-stream", service)
        #expect(bytes.json["appearance"]?["logo_url"]?.string != nil, "\(bytes.text)")
    }

    @Test func `the holder of an invite sees the appearance`() async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        _ = try await service.send(
            .patch, Self.path, json: ##"{"appearance":{"name":"Rockets","accent":"#1d5bc9"}}"##,
            as: .platformOwner)
        let invite = try await service.send(
            .post, "\(Self.path)/invites", json: #"{"email":"a@b.example","delivery":"link"}"#,
            as: .platformOwner)
        let token = try #require(invite.json["token"]?.string)
        let preview = try await service.send(
            .post, "/v1/invites/preview", json: #"{"token":"\#(token)"}"#)
        #expect(preview.json["tenant"]?["appearance"]?["name"] == .string("Rockets"))
        #expect(preview.json["tenant"]?["appearance"]?["on_accent"] == .string("#ffffff"))
    }
}
