import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Storage
import TestSupport
import Testing
import Text

/// A tenant with the client `immich` switched on and one person who has a password.
struct ImmichFixture: ClientFixture {
    static let mount = "/t/acme/immich"
    static let headers =
        ", x-immich-user-token, x-immich-session-token, x-api-key, devicemodel, devicetype"
    static let password = "correct horse battery"

    let service: TestService
    let tenant: TenantRow
    let user: UserRow

    static func make(
        settings: String = "{}", clock: TestClock? = nil,
        mail: ExternalServices.Mail? = nil
    ) async throws -> ImmichFixture {
        let service = try await TestService.make(
            externalServices: ExternalServices(
                providers: OutboundPolicy(allowsLoopback: true), mail: mail),
            clock: TestClock.reading(clock))
        let tenant = try await service.makeTenant("acme")
        try await set(service, tenant, settings)
        try await allowOrigin(service, credentials: true)
        let user = try await service.makeUser(
            "ann@acme.example", name: "Ann", role: .admin, password: password, in: tenant)
        return ImmichFixture(service: service, tenant: tenant, user: user)
    }

    static func set(
        _ service: TestService, _ tenant: TenantRow, _ settings: String
    ) async throws {
        let answer = try await service.send(
            .put, "/v1/tenants/acme/clients/immich",
            json: #"""
                {"enabled":true,"hosts":["photos.acme.example"],
                "redirect_uris":["app.immich:///oauth-callback","immich://oauth-callback"],
                "settings":\#(settings)}
                """#, as: .platformOwner)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// As the mobile app sends it.
    func send(
        _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String? = nil,
        fields: [Field] = []
    ) async throws -> TestAnswer {
        var all = fields + [Field("accept", "application/json")]
        if let token { all.append(Field("x-immich-user-token", token)) }
        return try await call(method, path, json, fields: all)
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

    /// The whole of `users/me`, of a person as the tenant's admins see them.
    func wholeUser(
        of id: String, generation: String = "v3", mustChange: Bool = false, oauth: String = ""
    ) async throws -> String {
        let user = try await service.send(
            .get, "/v1/tenants/acme/users/\(id)", as: .platformOwner
        ).json
        let created = user["created_at"]?.string ?? ""
        let group = #","clusterGroupId":"\#(tenant.id)""#
        expectRandomUUID(.string(id))
        expectRandomUUID(.string(tenant.id.description))
        expectDate(user["created_at"])
        expectDate(user["updated_at"])
        return #"{"id":"\#(id)","email":"\#(user["email"]?.string ?? "")","#
            + #""name":"\#(user["name"]?.string ?? "")","profileImagePath":"","#
            + #""avatarColor":"primary","profileChangedAt":"\#(created)","#
            + #""isAdmin":\#(user["role"]?.string == "admin"),"#
            + #""shouldChangePassword":\#(mustChange),"storageLabel":null,"#
            + #""createdAt":"\#(created)","updatedAt":"\#(user["updated_at"]?.string ?? "")","#
            + #""deletedAt":null,"oauthId":"\#(oauth)","quotaSizeInBytes":null,"#
            + #""quotaUsageInBytes":0,"status":"active","license":null"#
            + "\(generation == "v3" ? group : "")}"
    }
}

/// The three cookies of a sign-in, in their order and with their attributes.
func expectCookies(
    _ answer: TestAnswer, token: String, type: String, path: String = "/t/acme/immich",
    isSecure: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
) {
    let date = /Expires=[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/
    let cookies = answer.response.fields.filter { $0.name == "set-cookie" }.map {
        $0.value.replacing(date, with: "Expires=…")
    }
    let common = "; Max-Age=34560000; Path=\(path); Expires=…"
    let secure = isSecure ? "; Secure" : ""
    #expect(
        cookies == [
            "immich_access_token=\(token)\(common); HttpOnly\(secure); SameSite=Lax",
            "immich_auth_type=\(type)\(common); HttpOnly\(secure); SameSite=Lax",
            "immich_is_authenticated=true\(common)\(secure); SameSite=Lax",
        ], sourceLocation: sourceLocation)
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
    #expect(
        answer.text == String(decoding: expected.encoded(), as: UTF8.self),
        sourceLocation: sourceLocation)
    #expect(answer.first("content-type") == "application/json", sourceLocation: sourceLocation)
    #expect(answer.first("vary")?.contains("Origin") == true, sourceLocation: sourceLocation)
}
