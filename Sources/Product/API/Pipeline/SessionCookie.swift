import HTTP
import Text

/// The console's cookie: `__Host-` under TLS; on plain http, which only a loopback default uses,
/// browsers refuse that prefix, so the name goes without it.
package enum SessionCookie {
    private static let plainName = "gatehouse"
    private static let secureName = "__Host-gatehouse"

    /// The session's token; nil if the cookie is missing or empty.
    package static func token(in request: Request) -> String? {
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

    /// What a response does to the browser's session; nil: nothing.
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
