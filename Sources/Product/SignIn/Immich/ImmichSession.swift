import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The session as the app gets it: the token in the body, and three cookies for its web pages.
enum ImmichSession {
    /// 400 days, the most that browsers keep.
    private static let lifetime = 34_560_000

    /// 201 with the login response; begins the session.
    static func begin(
        _ call: ClientCall, of user: UserRow, _ method: NewSession.Method,
        mustChangePassword: Bool = false
    ) async throws -> Response {
        let seconds = call.tokenSeconds(default: lifetime)
        let (token, row) = try await call.startSession(
            of: user.id, method, device(call.request), seconds: seconds)
        let profile = try await call.immichProfile(of: row)
        var answer = Response.json(
            201,
            bytes: JSONValue.object([
                .init("accessToken", .string(token)),
                .init("userId", .string(row.id.description)),
                .init("userEmail", .string(ImmichUser.email(of: row))),
                .init("name", .string(row.name ?? "")),
                .init("isAdmin", .bool(row.role == .admin)),
                .init(
                    "shouldChangePassword", .bool(mustChangePassword || profile.hasFirstPassword)),
                .init("profileImagePath", .string("")),
                .init("isOnboarded", .bool(profile.isOnboarded)),
            ]).encoded())
        for (name, value, isHidden) in [
            ("immich_access_token", token, true), ("immich_auth_type", method.rawValue, true),
            ("immich_is_authenticated", "true", false),
        ] {
            answer.fields.append(call.cookie(name, value, seconds: seconds, isHidden: isHidden))
        }
        return answer
    }

    /// 200; the cookies are removed.
    static func ended(_ call: ClientCall) -> Response {
        var answer = Response.ok(
            .object([
                .init("successful", .bool(true)),
                .init("redirectUri", .string("/auth/login?autoLaunch=0")),
            ]))
        for name in ["immich_access_token", "immich_auth_type", "immich_is_authenticated"] {
            answer.fields.append(call.clearedCookie(name))
        }
        return answer
    }

    static func device(_ request: Request) -> ReportedDevice {
        ReportedDevice(type: request.first("devicetype"), os: request.first("devicemodel"))
    }
}
