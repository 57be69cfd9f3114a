import HTTP
import JSON
import TestSupport
import Testing
import Text

/// `/api/smtp-credentials`: the keys that the apps live by.
@Suite(.cleansUp) struct RelateKeyTests {
    private static let path = "/api/smtp-credentials"
    private static let all = ["smtp", "pop3", "imap", "api:read", "api:write", "app"]

    private func expectCreated(_ answer: TestAnswer, _ name: String, _ scopes: [String]) {
        let (id, created) = (answer.json["id"], answer.json["createdAt"])
        let key = answer.json["apiKey"]?.string ?? ""
        expectRandomUUID(id)
        expectDate(created)
        #expect(key.hasPrefix("gate_live_"))
        let list = scopes.map { #""\#($0)""# }.joined(separator: ",")
        expectAnswer(
            answer,
            #"{"id":"\#(id?.string ?? "")","name":"\#(name)","apiKey":"\#(key)","#
                + #""scopes":[\#(list)],"createdAt":"\#(created?.string ?? "")"}"#)
        #expect(answer.first("cache-control") == "no-store")
    }

    @Test func `R6 the mobile app changes its token for a key and lives by that`() async throws {
        let fixture = try await RelateFixture.make()
        var key = ""
        for platform in ["ios", "Android", "WINDOWS", "macOS", "web"] {
            let made = try await fixture.send(
                .post, "\(Self.path)/mobile",
                #"{"deviceName":"Pixel 9","platform":"\#(platform)"}"#, as: "Bearer opaque")
            expectCreated(made, "Mobile App - Pixel 9 (\(platform.lowercased()))", ["app"])
            key = made.json["apiKey"]?.string ?? ""
        }
        for credential in ["ApiKey \(key)", "apikey \(key)", "Bearer \(key)"] {
            let me = try await fixture.send(.get, "/api/profile", as: credential)
            #expect(me.json["email"]?.string == "ann@acme.example", "\(me.text)")
        }
        let long = String(repeating: "é", count: 120)
        let cut = try await fixture.send(
            .post, "\(Self.path)/mobile", #"{"deviceName":"\#(long)","platform":"web"}"#,
            as: "Bearer opaque")
        expectCreated(cut, "Mobile App - " + String(repeating: "é", count: 87), ["app"])
    }

    @Test func `R5 R6 a missing or wrong member is refused in the app's words`() async throws {
        let fixture = try await RelateFixture.make()
        for (body, text) in [
            ("{}", "DeviceName is required"),
            (#"{"deviceName":" ","platform":"ios"}"#, "DeviceName is required"),
            (
                #"{"deviceName":"a\u202eb","platform":"ios"}"#,
                "DeviceName must have no control or invisible characters"
            ),
            (#"{"deviceName":"a"}"#, "Platform is required"),
            (
                #"{"deviceName":"a","platform":"BeOS"}"#,
                "Invalid platform: BeOS. Valid platforms are: ios, android, windows, macos, web"
            ),
        ] {
            let answer = try await fixture.send(
                .post, "\(Self.path)/mobile", body, as: "Bearer opaque")
            expectOnlyError(answer, 400, text)
        }
        let long = String(repeating: "n", count: 101)
        for (body, text) in [
            ("{}", "Name is required"), (#"{"name":"  "}"#, "Name is required"),
            (#"{"name":"\#(long)"}"#, "Name must be 100 characters or less"),
            (
                #"{"name":"a","scopes":["smtp","root"]}"#,
                "Invalid scope: root. Valid scopes are: smtp, pop3, imap, api:read, api:write, app"
            ),
        ] {
            expectOnlyError(
                try await fixture.send(.post, Self.path, body, as: "Bearer opaque"), 400, text)
        }
        expectBare401(try await fixture.send(.post, Self.path, "{}"))
        expectBare401(
            try await fixture.send(.post, "\(Self.path)/mobile", "{}", as: "Bearer gate_x"))
    }

    @Test func `R5 a key has all of the tenant's scopes unless fewer are asked for`() async throws {
        let fixture = try await RelateFixture.make()
        for scopes in ["", #","scopes":null"#, #","scopes":[]"#] {
            let answer = try await fixture.send(
                .post, Self.path, #"{"name":"All"\#(scopes)}"#, as: "Bearer opaque")
            expectCreated(answer, "All", Self.all)
        }
        let longest = String(repeating: "n", count: 100)
        expectCreated(
            try await fixture.send(
                .post, Self.path, #"{"name":"\#(longest)"}"#, as: "Bearer opaque"), longest,
            Self.all)
        let some = try await fixture.send(
            .post, Self.path, #"{"name":"Mail","scopes":["imap","smtp"]}"#, as: "Bearer opaque")
        expectCreated(some, "Mail", ["imap", "smtp"])
        // A key gives only what it has, and a mail key manages nothing.
        let mail = "ApiKey \(some.json["apiKey"]?.string ?? "")"
        #expect(try await fixture.send(.get, Self.path, as: mail).status == 403)
        let phone = "ApiKey \(try await fixture.key().text)"
        // A device's key stands for its user: it gives whatever the tenant knows.
        let more = try await fixture.send(.post, Self.path, #"{"name":"More"}"#, as: phone)
        expectCreated(more, "More", Self.all)
        let desktop = try await fixture.send(
            .post, Self.path,
            #"{"name":"Thunderbird","scopes":["smtp","pop3","imap","api:read","api:write"]}"#,
            as: phone)
        expectCreated(desktop, "Thunderbird", ["smtp", "pop3", "imap", "api:read", "api:write"])
        let rotated = try await fixture.send(
            .post, "\(Self.path)/\(desktop.json["id"]?.string ?? "")/rotate", as: phone)
        #expect(rotated.status == 200, "\(rotated.text)")
        // `api:write` alone gives what it has.
        let writer = try await fixture.send(
            .post, Self.path, #"{"name":"Writer","scopes":["api:write"]}"#, as: "Bearer opaque")
        let narrow = "ApiKey \(writer.json["apiKey"]?.string ?? "")"
        for body in [#"{"name":"N"}"#, #"{"name":"N","scopes":["smtp"]}"#] {
            expectOnlyError(
                try await fixture.send(.post, Self.path, body, as: narrow), 403,
                "A key cannot grant a scope that it does not have.")
        }
        #expect(
            try await fixture.send(
                .post, "\(Self.path)/\(desktop.json["id"]?.string ?? "")/rotate", as: narrow
            ).status == 403)
        expectCreated(
            try await fixture.send(
                .post, Self.path, #"{"name":"Same","scopes":["api:write"]}"#, as: narrow), "Same",
            ["api:write"])
        // Only what stands for its user makes a device's key, whatever the device is called.
        for name in ["api:write", "app", "Pixel 9"] {
            let body = #"{"deviceName":"\#(name)","platform":"ios"}"#
            expectOnlyError(
                try await fixture.send(.post, "\(Self.path)/mobile", body, as: narrow), 403,
                "A key cannot grant a scope that it does not have.")
            expectCreated(
                try await fixture.send(.post, "\(Self.path)/mobile", body, as: phone),
                "Mobile App - \(name) (ios)", ["app"])
        }
        // None of them is a right at the management API.
        let management = try await fixture.service.send(
            .get, "/v1/tenants/acme/users", as: .bearer(some.json["apiKey"]?.string ?? ""))
        #expect(management.status == 403)
    }

    @Test func `R7 the list has the living keys and where to connect`() async throws {
        let fixture = try await RelateFixture.make(
            settings: #"{"smtp":{"server":"smtp.acme.example","port":2587,"secure_port":2465}}"#)
        let key = try await fixture.key()
        let other = try await fixture.key("web")
        let answer = try await fixture.send(.get, Self.path, as: "ApiKey \(key.text)")
        let items = try #require(answer.json["keys"]?.array)
        let created = items.map { $0["createdAt"] }
        for date in created { expectDate(date) }
        // The other one was never used.
        let used = items.last?["lastUsedAt"]
        expectDate(used)
        expectAnswer(
            answer,
            #"{"connectionInfo":{"smtpServer":"smtp.acme.example","smtpPort":2587,"#
                + #""smtpSecurePort":2465,"smtpEnabled":true,"pop3Server":"localhost","#
                + #""pop3Port":110,"pop3SecurePort":995,"pop3Enabled":false,"#
                + #""imapServer":"localhost","imapPort":143,"imapSecurePort":993,"#
                + #""imapEnabled":false,"username":"ann@acme.example","activeKeyCount":2},"#
                + #""keys":[{"id":"\#(other.id)","name":"Mobile App - Ann's phone (web)","#
                + #""createdAt":"\#(created[0]?.string ?? "")","lastUsedAt":null,"#
                + #""isActive":true,"scopes":["app"]},"#
                + #"{"id":"\#(key.id)","name":"Mobile App - Ann's phone (ios)","#
                + #""createdAt":"\#(created[1]?.string ?? "")","#
                + #""lastUsedAt":"\#(used?.string ?? "")","isActive":true,"#
                + #""scopes":["app"]}]}"#)
        expectBare401(try await fixture.send(.get, Self.path))
    }

    @Test func `R7 a key of another tenant is not known here, good or not`() async throws {
        let fixture = try await RelateFixture.make()
        let key = try await fixture.key()
        try await fixture.service.makeTenant("other")
        try await fixture.service.manage(
            .put, "/v1/tenants/other/clients/relate", #"{"enabled":true}"#)
        for _ in 0..<2 {
            let answer = try await fixture.service.send(
                .get, "/t/other/relate\(Self.path)",
                fields: [Field("authorization", "ApiKey \(key.text)")])
            expectNotFound(answer)
            try await fixture.service.manage(
                .post, "/v1/tenants/acme/api-keys/\(key.id)/revoke", "{}")
        }
    }

    @Test func `R8 a key is revoked once, and then is not there`() async throws {
        let fixture = try await RelateFixture.make()
        let (phone, tablet) = (try await fixture.key(), try await fixture.key("web"))
        let credential = "ApiKey \(phone.text)"
        // The app sends a content type with no body.
        let json = [Field("content-type", "application/json")]
        func delete(_ id: String) async throws -> TestAnswer {
            try await fixture.send(.delete, "\(Self.path)/\(id)", as: credential, fields: json)
        }
        expectEmpty(try await delete(tablet.id), 204)
        expectBare401(try await fixture.send(.get, Self.path, as: "ApiKey \(tablet.text)"))
        for id in [tablet.id, UUID.random().description, "no-guid"] {
            expectNotFound(try await delete(id))
        }
        let list = try await fixture.send(.get, Self.path, as: credential)
        #expect(list.json["connectionInfo"]?["activeKeyCount"]?.int == 1)
    }

    @Test func `R9 a rotated key has a new secret, and the old one ends at once`() async throws {
        let fixture = try await RelateFixture.make()
        let key = try await fixture.key()
        let answer = try await fixture.send(
            .post, "\(Self.path)/\(key.id)/rotate", as: "ApiKey \(key.text)")
        expectCreated(answer, "Mobile App - Ann's phone (ios)", ["app"])
        #expect(answer.json["id"]?.string == key.id)
        expectBare401(try await fixture.send(.get, Self.path, as: "ApiKey \(key.text)"))
        let fresh = "ApiKey \(answer.json["apiKey"]?.string ?? "")"
        #expect(try await fixture.send(.get, Self.path, as: fresh).status == 200)
        for id in [UUID.random().description, "no-guid"] {
            expectNotFound(try await fixture.send(.post, "\(Self.path)/\(id)/rotate", as: fresh))
        }
        expectBare401(try await fixture.send(.post, "\(Self.path)/\(key.id)/rotate"))
    }

    @Test func `R8 R9 another person's key is not found, for any caller`() async throws {
        let fixture = try await RelateFixture.make()
        let ann = try await fixture.key()
        try await fixture.inviteBob()
        let bob = "ApiKey \(try await fixture.key().text)"
        expectNotFound(try await fixture.send(.delete, "\(Self.path)/\(ann.id)", as: bob))
        expectNotFound(try await fixture.send(.post, "\(Self.path)/\(ann.id)/rotate", as: bob))
        let list = try await fixture.send(.get, Self.path, as: bob)
        #expect(list.json["keys"]?.array?.count == 1)
    }

    @Test func `the desktop's page may ask before each call`() async throws {
        let fixture = try await RelateFixture.make()
        try await fixture.expectPreflights([
            (.get, "/api/profile"), (.get, Self.path), (.post, Self.path),
            (.post, "\(Self.path)/mobile"), (.delete, "\(Self.path)/1"),
            (.post, "\(Self.path)/1/rotate"), (.get, "/api/emails"),
        ])
        expectNotFound(try await fixture.send(.get, "/api/emails"))
        let evil = try await fixture.service.send(
            .get, "/t/acme/relate\(Self.path)", fields: [Field("origin", "https://evil.example")])
        expectOnlyError(evil, 403, "Origin not allowed")
    }
}
