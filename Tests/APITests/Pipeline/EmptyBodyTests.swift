import API
import Gatehouse
import HTTP
import JSON
import Postgres
import TestSupport
import Testing

/// What comes without a body, in a coding that is not taken, or with a type that is said twice.
@Suite(.cleansUp) struct EmptyBodyTests {
    private static let json = Field("content-type", "application/json")

    private func path(_ endpoint: Endpoint, _ fixture: RightsFixture) -> String {
        fixture.target(endpoint).path
    }

    /// Those at `/v1` that describe a JSON body, without the verbs about one object that need nothing.
    private static var described: [Endpoint] {
        Routes.all.filter { endpoint in
            guard case .json(let shape) = endpoint.body else { return false }
            return endpoint.path.hasPrefix("/v1/")
                && (!isVerb(endpoint) || shape.fields.contains(where: \.isRequired))
        }
    }

    private static let verbs: Set = [
        "revoke", "rotate", "rollback", "cut", "resend", "restore", "suspend", "resume", "approve",
        "purge", "delete", "decline", "link", "password-link", "link-grants", "confirm", "check",
        "undo",
    ]

    private static func isVerb(_ endpoint: Endpoint) -> Bool {
        let parts = endpoint.path.split(separator: "/").map(String.init)
        return endpoint.method == .post && parts[parts.count - 2].hasPrefix("{")
            && verbs.contains(parts[parts.count - 1])
    }

    @Test
    func `an announced body that did not come is 400 at every operation, and nothing changes`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let rights = try await RightsFixture.make(fixture)
        let before = try await fixture.count("audit_events")
        #expect(Self.described.count > 25)
        for endpoint in Self.described {
            let answer = try await fixture.service.send(
                endpoint.method, path(endpoint, rights), as: .platformOwner,
                fields: [Self.json, Field("if-match", "*")])
            #expect(answer.status == 400, "\(endpoint.id) \(answer.text)")
            #expect(answer.json["code"]?.string == "invalid_request", "\(endpoint.id)")
        }
        #expect(try await fixture.count("audit_events") == before)
    }

    @Test func `a PUT without a byte sets nothing, whatever it announces`() async throws {
        let fixture = try await UserFixture.make()
        let service = fixture.service
        let policy = "/v1/tenants/acme/policy"
        let client = "/v1/tenants/acme/clients/immich"
        try await service.manage(.put, client, #"{"enabled":true}"#)
        for path in [policy, client, "/v1/tenants/acme/cors-origins"] {
            for fields in [[], [Self.json]] {
                let answer = try await service.send(
                    .put, path, as: .platformOwner, fields: fields + [Field("if-match", "*")])
                #expect(answer.status == 400, "\(path) \(answer.text)")
            }
        }
        let clients = try await service.send(
            .get, "/v1/tenants/acme/clients", as: .platformOwner)
        #expect(clients.text.contains(#""enabled":true"#))
    }

    @Test func `an action needs no body, but ending all keys needs a reason`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let service = fixture.service
        let key = try await service.makeKey(#""smtp""#)
        let all = "/v1/tenants/acme/api-keys/revoke"
        for (body, status) in [("{}", 422), (nil, 422), (#"{"reason":""}"#, 422)] {
            let answer = try await service.send(.post, all, json: body, as: .platformOwner)
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.text.contains("/reason"))
        }
        #expect(try await service.verdict(key.secret) == "valid")
        let bare = try await service.send(
            .post, "/v1/tenants/acme/api-keys/\(key.id)/revoke", as: .platformOwner)
        #expect(bare.status == 200, "\(bare.text)")
        let typed = try await service.makeKey(#""smtp""#)
        let announced = try await service.send(
            .post, "/v1/tenants/acme/api-keys/\(typed.id)/revoke", as: .platformOwner,
            fields: [Self.json])
        #expect(announced.status == 200, "\(announced.text)")
        let user = try await fixture.make("x@a.example")
        // Clients send the type with each of their calls.
        for (method, path) in [
            (Method.post, "/\(user)/suspend"), (.post, "/\(user)/resume"), (.get, "/\(user)"),
            (.delete, "/\(user)"),
        ] {
            let answer = try await service.send(
                method, "/v1/tenants/acme/users" + path, as: .platformOwner,
                fields: [Self.json])
            #expect(answer.status < 300, "\(path) \(answer.text)")
        }
    }

    @Test func `a coded body is 415, and two types are 400`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let path = "/v1/tenants/acme/users"
        func status(_ more: [Field], _ email: String) async throws -> Int {
            try await service.send(
                .post, path, json: #"{"email":"\#(email)"}"#, as: .platformOwner,
                fields: [Self.json] + more
            ).status
        }
        for coding in ["gzip", "br", "identity, gzip", "GZIP"] {
            let coded = try await status([Field("content-encoding", coding)], "a@a.example")
            #expect(coded == 415, "\(coding)")
        }
        for type in ["application/json", "text/plain"] {
            let twice = try await status([Field("content-type", type)], "a@a.example")
            #expect(twice == 400, "\(type)")
        }
        let plain = try await status([Field("content-encoding", "identity")], "a@a.example")
        #expect(plain == 201)
    }
}
