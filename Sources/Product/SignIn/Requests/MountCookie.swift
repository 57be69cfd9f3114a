import HTTP
import Text

extension ClientCall {
    /// A cookie of this mount, in the order of attributes that apps' own tests compare.
    /// `isHidden`: from scripts.
    func cookie(_ name: String, _ value: String, seconds: Int64, isHidden: Bool = true) -> Field {
        let end = now.microseconds / 1_000_000 + seconds
        var text = "\(name)=\(value); Max-Age=\(seconds); Path=\(cookiePath); "
        text += "Expires=\(HTTPDate.text(end))"
        if isHidden { text += "; HttpOnly" }
        if request.isTLS { text += "; Secure" }
        return Field("set-cookie", text + "; SameSite=Lax")
    }

    /// Removes a cookie of this mount.
    func clearedCookie(_ name: String) -> Field {
        Field("set-cookie", "\(name)=; Path=\(cookiePath); Expires=Thu, 01 Jan 1970 00:00:00 GMT")
    }
}
