import Cryptography
import Domain
import HTTP

/// The cookie that binds a challenge to the browser that asked for it, before there is a session.
/// A browser keeps its value while it asks anew, so that each of its open pages can go on.
enum ChallengeCookie {
    private static func name(_ isTLS: Bool) -> String {
        isTLS ? "__Host-gatehouse-passkey" : "gatehouse-passkey"
    }

    /// The token that the browser sent; nil unless it is one of ours by its form.
    static func token(in request: Request) -> String? {
        RequestCookie.value(name(request.isTLS), in: request)
            .flatMap { TokenSecret.hash($0) == nil ? nil : $0 }
    }

    static func set(_ token: String, isTLS: Bool) -> Field {
        Field(
            "set-cookie",
            "\(name(isTLS))=\(token); Max-Age=\(Passkey.challengeSeconds); Path=/; HttpOnly; "
                + "SameSite=Strict" + (isTLS ? "; Secure" : ""))
    }
}
