import Cryptography
import Domain
import HTTP
import Storage
import Text

/// The cookies of a request (RFC 6265 section 5.4).
package enum RequestCookie {
    /// The value of the first cookie with this name, compared byte by byte; `nil` if there is none.
    package static func value(_ name: String, in request: Request) -> String? {
        for line in request.all("cookie") {
            for part in line.split(separator: ";") {
                let pair = part.trimmingSpaces
                guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")),
                    pair.utf8[..<equals].elementsEqual(name.utf8)
                else { continue }
                return String(decoding: pair.utf8[equals...].dropFirst(), as: UTF8.self)
            }
        }
        return nil
    }
}

/// The console's session cookie. Over TLS its name has the prefix `__Host-`. Over plain http, which
/// is used only for a loopback address, browsers refuse that prefix, so the name is without it.
enum SessionCookie {
    private static let plainName = "gatehouse"
    private static let secureName = "__Host-gatehouse"

    /// The session's token; `nil` if the cookie is missing or empty.
    static func token(in request: Request) -> String? {
        RequestCookie.value(request.isTLS ? secureName : plainName, in: request)
            .flatMap { $0.isEmpty ? nil : $0 }
    }

    static func set(_ token: String, isTLS: Bool) -> Field {
        Field("set-cookie", "\(start(isTLS))\(token); \(attributes(isTLS))")
    }

    static func clear(isTLS: Bool) -> Field {
        Field("set-cookie", "\(start(isTLS)); Max-Age=0; \(attributes(isTLS))")
    }

    private static func start(_ isTLS: Bool) -> String { (isTLS ? secureName : plainName) + "=" }

    enum Change { case begins, ends }

    /// Whether a response sets or clears the session cookie; `nil` if it does neither.
    static func change(by response: Response) -> Change? {
        let names = [secureName, plainName].map { "\($0)=" }
        let line = response.fields.last { field in
            sameBytes(field.name, "set-cookie") && names.contains { field.value.hasPrefix($0) }
        }
        return line.map { $0.value.contains("; Max-Age=0;") ? .ends : .begins }
    }

    static func attributes(_ isTLS: Bool) -> String {
        "Path=/; HttpOnly; SameSite=Strict" + (isTLS ? "; Secure" : "")
    }
}

/// A cookie that contains a random token of this server, and that scripts cannot read. Each
/// response that sets the cookie again keeps the token and extends the cookie's life.
package struct TokenCookie: Sendable {
    private let name: String
    private let seconds: Int64

    /// Binds a passkey challenge to the browser that requested it, before there is a session. Each
    /// open page of that browser can answer its own challenge.
    static let challenge = TokenCookie(
        name: "gatehouse-passkey", seconds: Passkey.challengeSeconds)
    /// Identifies a browser in which an operator has signed in before.
    package static let device = TokenCookie(
        name: "gatehouse-device", seconds: Database.knownDeviceSeconds)

    /// The token that the browser sent; `nil` unless it has the form of a token of this server.
    package func token(in request: Request) -> String? {
        RequestCookie.value(name(request.isTLS), in: request)
            .flatMap { TokenSecret.hash($0) == nil ? nil : $0 }
    }

    /// The hash of the token that the browser sent; `nil` if it sent none.
    func hash(in request: Request) -> [UInt8]? {
        token(in: request).flatMap { TokenSecret.hash($0) }
    }

    func set(_ token: String, isTLS: Bool) -> Field {
        Field(
            "set-cookie",
            "\(name(isTLS))=\(token); Max-Age=\(seconds); Path=/; HttpOnly; SameSite=Strict"
                + (isTLS ? "; Secure" : ""))
    }

    /// The cookie's name. It has the prefix `__Host-` only over TLS, since browsers refuse that
    /// prefix otherwise.
    private func name(_ isTLS: Bool) -> String { (isTLS ? "__Host-" : "") + name }
}
