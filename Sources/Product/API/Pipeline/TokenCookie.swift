import Cryptography
import Domain
import HTTP
import Storage

/// A cookie with a random token of ours, which no script reads. A browser keeps its value as long as
/// it is set anew.
struct TokenCookie {
    private let name: String
    private let seconds: Int64

    /// Binds a challenge to the browser that asked for it, before there is a session: each of its
    /// open pages can go on.
    static let challenge = TokenCookie(
        name: "gatehouse-passkey", seconds: Passkey.challengeSeconds)
    /// Names the browsers that an operator is known to use.
    static let device = TokenCookie(
        name: "gatehouse-device", seconds: Database.knownDeviceSeconds)

    /// The token that the browser sent; nil unless it is one of ours by its form.
    func token(in request: Request) -> String? {
        RequestCookie.value(name(request.isTLS), in: request)
            .flatMap { TokenSecret.hash($0) == nil ? nil : $0 }
    }

    /// Its hash.
    func hash(in request: Request) -> [UInt8]? {
        token(in: request).flatMap { TokenSecret.hash($0) }
    }

    func set(_ token: String, isTLS: Bool) -> Field {
        Field(
            "set-cookie",
            "\(name(isTLS))=\(token); Max-Age=\(seconds); Path=/; HttpOnly; SameSite=Strict"
                + (isTLS ? "; Secure" : ""))
    }

    /// Browsers take the prefix under TLS alone.
    private func name(_ isTLS: Bool) -> String { (isTLS ? "__Host-" : "") + name }
}
