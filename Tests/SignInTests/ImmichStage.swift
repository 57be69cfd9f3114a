import Cryptography
import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// A tenant with the client `immich` switched on and one person who has a password.
struct ImmichStage {
    static let password = "correct horse battery"

    let service: TestService
    let tenant: TenantRow
    let user: UserRow

    static func make(
        settings: String = "{}", clock: TestClock? = nil
    ) async throws -> ImmichStage {
        let service = try await TestService.make(
            clock: { clock?.now ?? Timestamp.systemClock() })
        let tenant = try await service.makeTenant("acme")
        try await set(service, tenant, settings)
        let user = try await service.makeUser(
            "ann@acme.example", name: "Ann", role: "admin", password: password, in: tenant)
        return ImmichStage(service: service, tenant: tenant, user: user)
    }

    static func set(
        _ service: TestService, _ tenant: TenantRow, _ settings: String
    ) async throws {
        let answer = try await service.send(
            .put, "/v1/tenants/acme/clients/immich",
            json: #"""
                {"enabled":true,"hosts":["photos.acme.example"],
                "redirect_uris":["app.immich:///oauth-callback"],"settings":\#(settings)}
                """#, as: .tenantAdmin(tenant))
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// As the mobile app sends it.
    func send(
        _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String? = nil,
        fields: [Field] = []
    ) async throws -> TestAnswer {
        var all = fields + [Field("accept", "application/json")]
        if let token { all.append(Field("x-immich-user-token", token)) }
        return try await service.send(method, "/t/acme/immich\(path)", json: json, fields: all)
    }

    func signIn(
        _ password: String = Self.password, fields: [Field] = Self.device
    ) async throws -> TestAnswer {
        try await send(
            .post, "/api/auth/login",
            #"{"email":"ann@acme.example","password":"\#(password)"}"#, fields: fields)
    }

    static let device = [Field("devicemodel", "Pixel 9"), Field("devicetype", "Android")]

    func token() async throws -> String {
        let answer = try await signIn()
        #expect(answer.status == 201, "\(answer.text)")
        return answer.json["accessToken"]?.string ?? ""
    }
}

/// An older app's whole error: four members and no more.
func expectError(
    _ answer: TestAnswer, _ status: Int, _ message: String,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
    let id = answer.first("x-immich-cid") ?? "?"
    let expected = JSONValue.object([
        .init("message", .string(message)), .init("error", .string(reasonPhrase(status))),
        .init("statusCode", .int(status)), .init("correlationId", .string(id)),
    ])
    #expect(answer.json == expected, "\(answer.text)", sourceLocation: sourceLocation)
    #expect(answer.first("content-type") == "application/json", sourceLocation: sourceLocation)
    #expect(answer.first("vary")?.contains("Origin") == true, sourceLocation: sourceLocation)
}
