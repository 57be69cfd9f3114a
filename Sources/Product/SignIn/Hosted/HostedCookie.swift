import API
import HTTP

/// A cookie of the hosted pages. Under TLS its prefix blocks cookies that a sibling host sets for
/// the whole domain, to continue a user's sign-in as another's; on plain http browsers refuse that
/// prefix.
struct HostedCookie: Sendable {
    /// Binds the return from a provider to the browser that began.
    static let state = HostedCookie(plainName: "gatehouse_sign_in")
    /// The same for an operator's sign-in to the console.
    static let `operator` = HostedCookie(plainName: "gatehouse_operator")
    static let held = HostedCookie(plainName: "gatehouse_held")
    /// A link grant on its way to the provider and back.
    static let grant = HostedCookie(plainName: "gatehouse_grant")
    static let seconds: Int64 = 600

    private let plainName: String

    func value(in request: Request) -> String? { RequestCookie.value(name(request), in: request) }

    /// Lasts ten minutes; removed if there is no value.
    func field(_ value: String?, for request: Request) -> Field {
        var text = "\(name(request))=\(value ?? ""); Path=/"
        text += "; Max-Age=\(value == nil ? 0 : Self.seconds); HttpOnly; SameSite=Lax"
        if request.isTLS { text += "; Secure" }
        return Field("set-cookie", text)
    }

    private func name(_ request: Request) -> String {
        request.isTLS ? "__Host-\(plainName)" : plainName
    }
}
