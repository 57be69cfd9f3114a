import API
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The palette finds a person of any tenant by parts of an address or a name, for the platform alone.
@Suite(.cleansUp) struct SearchPeopleTests {
    private static func found(
        _ text: String, _ service: TestService, _ credential: TestService.Credential,
        in tenant: String? = nil
    ) async throws -> [JSONValue] {
        let place = tenant.map { "&tenant=\($0)" } ?? ""
        let answer = try await service.send(
            .get, "/v1/search?q=\(text)\(place)", as: credential)
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["items"]?.array ?? []).filter { $0["type"] == .string("user") }
    }

    @Test func `a person of another tenant is found, with that tenant's name`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        for (tenant, email, name) in [
            ("other", "katherine.jensen@mail.example", "Katherine Jensen"),
            ("acme", "kj@acme.example", "Kristin Jensen"),
        ] {
            let made = try await service.send(
                .post, "/v1/tenants/\(tenant)/users",
                json: #"{"email":"\#(email)","name":"\#(name)"}"#, as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
        }
        for text in ["therine.jen", "jensen%20KATHERINE", "Katherine%20mail"] {
            let people = try await Self.found(text, service, .platformOwner)
            #expect(people.map { $0["email"] } == [.string("katherine.jensen@mail.example")])
            #expect(people.first?["tenant_name"] == .string(other.name))
            #expect(people.first?["tenant_id"] == .string(other.id.description))
        }
        // In a tenant its own come first, and without its name.
        let both = try await Self.found("jensen", service, .platformOwner, in: "acme")
        #expect(both.map { $0["tenant_name"] } == [nil, .string(other.name)])
        // A wildcard is no wildcard here, and two letters are too few.
        for text in ["%25%25%25", "k_t", "ka", "j%20k"] {
            #expect(try await Self.found(text, service, .platformOwner).isEmpty, "\(text)")
        }
        #expect(try await Self.found("katherine", service, .tenantAdmin(acme)).isEmpty)
        #expect(try await Self.found("jensen", service, .tenantAdmin(acme)).count == 1)
        let id = try #require(
            try await Self.found("katherine", service, .platformOwner).first?["id"]?.string)
        _ = try await service.send(.delete, "/v1/tenants/other/users/\(id)", as: .platformOwner)
        #expect(try await Self.found("katherine", service, .platformOwner).isEmpty)
    }

    @Test func `any id is found by the platform without its tenant`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        _ = try await service.makeTenant("other")
        let path = "/v1/tenants/acme"
        let user = try #require(
            try await service.send(
                .post, "\(path)/users",
                json: #"{"email":"ann+test@acme.example","name":"Ann Lee"}"#,
                as: .platformOwner
            ).json["id"]?.string)
        let invite = try await service.send(
            .post, "\(path)/invites", json: #"{"email":"bo@acme.example","delivery":"link"}"#,
            as: .platformOwner
        ).json["id"]?.string
        let domain = try await service.send(
            .post, "\(path)/domains", json: #"{"domain":"acme.example"}"#, as: .platformOwner
        ).json["id"]?.string
        let origin = try await service.send(
            .post, "\(path)/cors-origins", json: #"{"origin":"https://app.acme.example"}"#,
            as: .platformOwner
        ).json["id"]?.string
        let key = try await service.send(
            .post, "\(path)/api-keys", json: #"{"name":"ci","scopes":["users:read"]}"#,
            as: .platformOwner
        ).json
        let identity = UUID.random()
        try await service.storage.scope(acme.id).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, created_at)
                VALUES (\(acme.id), \(identity), \(UUID(user)), 'oidc', 'https://idp.example', 's', now())
                """)
        }
        for (id, type) in [
            (user, "user"), (invite, "invite"), (domain, "domain"), (origin, "cors_origin"),
            (key["id"]?.string, "api_key"), (identity.description, "user"),
        ] {
            let wanted = try #require(id)
            let answer = try await service.send(
                .get, "/v1/search?q=%20\(wanted)", as: .platformOwner)
            #expect(
                answer.json["items"]?.array?.map { $0["type"] } == [.string(type)], "\(answer.text)"
            )
            #expect(answer.json["items"]?.array?.first?["tenant_id"]?.string == acme.id.description)
            let foreign = try await service.send(
                .get, "/v1/search?q=\(wanted)&tenant=other", as: .platformOwner)
            #expect(foreign.json["items"]?.array?.isEmpty == true, "\(foreign.text)")
        }
        let last4 = try #require(
            key["last4"]?.string ?? (key["key"]?.string).map { String($0.suffix(4)) })
        let ends = try await service.send(.get, "/v1/search?q=\(last4)", as: .platformOwner)
        #expect(
            ends.json["items"]?.array?.contains { $0["id"] == key["id"] } == true, "\(ends.text)")
        // Each word in any order, and a plus that the query string made a space.
        for text in ["lee%20ann", "ann+test@acme.example", "acme.example%20LEE"] {
            for place in ["/v1/search?tenant=acme&q=", "\(path)/users?q="] {
                let found = try await service.send(.get, place + text, as: .platformOwner)
                #expect(
                    found.json["items"]?.array?.map { $0["id"] } == [.string(user)],
                    "\(text) \(found.text)")
            }
        }
        let none = try await service.send(.get, "\(path)/users?q=lee%20bob", as: .platformOwner)
        #expect(
            none.json["items"]?.array?.isEmpty == true && none.json["total"]?["value"]?.int == 0)
    }

    @Test func `users are listed by their last sign-in, whoever never came at the end`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        try await service.storage.addUsers(1...7, to: acme.id)
        try await service.storage.scope(acme.id).change(by: .system) { change in
            try await change.query(
                """
                UPDATE users SET last_sign_in_at = to_timestamp(length(email) + ascii(email) * 86400)
                WHERE tenant_id = \(acme.id) AND ascii(email) % 2 = 1
                """)
        }
        for (sort, first) in [("-last_sign_in_at", "7@"), ("last_sign_in_at", nil)] {
            var emails: [String] = []
            var cursor = ""
            repeat {
                let page = try await service.send(
                    .get, "/v1/tenants/acme/users?limit=2&sort=\(sort)\(cursor)", as: .platformOwner
                )
                #expect(page.status == 200, "\(page.text)")
                emails += page.json["items"]?.array?.compactMap { $0["email"]?.string } ?? []
                cursor = (page.json["next_cursor"]?.string).map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(emails.count == 7 && Set(emails).count == 7)
            let came = ["7@", "5@", "3@", "1@"]
            let order = first == nil ? Array(emails.suffix(4).reversed()) : Array(emails.prefix(4))
            #expect(zip(order, came).allSatisfy { $0.hasPrefix($1) }, "\(emails)")
        }
    }

    @Test func `the platform's decisions and audit are narrowed to one tenant`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        _ = try await service.makeTenant("other")
        for slug in ["acme", "other"] {
            _ = try await service.send(
                .post, "/v1/tenants/\(slug)/users", json: #"{"email":"a@\#(slug).example"}"#,
                as: .platformOwner)
        }
        for path in ["/v1/audit-events", "/v1/provisioning/decisions"] {
            for wanted in ["acme", acme.id.description] {
                let page = try await service.send(
                    .get, "\(path)?tenant=\(wanted)", as: .platformOwner)
                #expect(page.status == 200, "\(page.text)")
                let tenants = page.json["items"]?.array?.map { $0["tenant_id"]?.string } ?? []
                #expect(tenants.allSatisfy { $0 == acme.id.description }, "\(page.text)")
                #expect(path.contains("decisions") || !tenants.isEmpty)
            }
            let gone = try await service.send(.get, "\(path)?tenant=nobody", as: .platformOwner)
            #expect(gone.status == 404, "\(gone.text)")
            let foreign = try await service.send(
                .get, "\(path)?tenant=other", as: .tenantAdmin(acme))
            #expect(foreign.status == 404, "\(foreign.text)")
        }
    }
}
