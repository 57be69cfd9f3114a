import API
import Cryptography
import Domain
import HTTP
import Storage
import Text

/// An HTML page that comes from this server itself, in a tenant's name. Its only script reads a
/// link grant from the address.
struct HostedPage {
    private let language: HostedLanguage
    private let title: String
    private var body = ""
    private var footer = ""
    /// The CSS with the tenant's colour; empty if the tenant has no colour.
    private var colours = ""

    /// Creates a page of the server itself, without a tenant.
    init(_ title: HostedText, in language: HostedLanguage) {
        self.language = language
        let title = title.said(in: language)
        self.title = "\(title) · Gatehouse"
        body = "<p class=\"name\">Gatehouse</p><h1>\(htmlEscaped(title))</h1>"
    }

    /// Creates a page with the tenant's name, logo and colour. Since a tenant may choose any name,
    /// the footer shows the host and the tenant's slug. If `tenant` is `nil`, the page is for the
    /// tenant of the call.
    init(_ title: HostedText, in client: ClientCall, of tenant: TenantRow? = nil) {
        language = HostedLanguage(client.request)
        let title = title.said(in: language)
        let tenant = tenant ?? client.tenant
        let face = tenant.appearance
        let name = face.name ?? tenant.name
        self.title = "\(title) · \(name)"
        if let logo = face.logoPath {
            body = "<img class=\"logo\" src=\"\(logo)\" alt=\"\">"
        }
        body += "<p class=\"name\">\(htmlEscaped(name))</p><h1>\(htmlEscaped(title))</h1>"
        let host = client.application.publicURL.split(separator: "/").last.map(String.init) ?? ""
        footer = [tenant.slug, host].filter { !$0.isEmpty }.joined(separator: " · ")
        if let accent = face.accent, let ink = face.ink {
            colours = ":root{--fill:\(accent);--on:\(ink)}"
        }
    }

    mutating func say(_ text: HostedText) { say([text]) }

    /// Adds sentences as one paragraph.
    mutating func say(_ sentences: [HostedText]) {
        let text = sentences.map { $0.said(in: language) }.joined(separator: " ")
        body += "<p>\(htmlEscaped(text))</p>"
    }

    /// Adds an error, which screen readers announce.
    mutating func warn(_ text: HostedText) { warn(said: text.said(in: language)) }

    /// Adds the text of a refusal. If the page is in German and there is a German text for the
    /// code, adds that text; otherwise adds the problem's own text.
    mutating func warn(_ problem: Problem) {
        warn(
            said: (language == .german ? HostedGerman.refusals[problem.code] : nil)
                ?? problem.detail)
    }

    private mutating func warn(said text: String) {
        body += "<p role=\"alert\" class=\"alert\">\(htmlEscaped(text))</p>"
    }

    /// Adds a link for the person to follow; no page redirects by itself.
    mutating func link(_ label: HostedText, to address: String) {
        let label = htmlEscaped(label.said(in: language))
        body += "<p><a class=\"act\" href=\"\(htmlEscaped(address))\">\(label)</a></p>"
    }

    /// Adds a form with one button, which posts these values.
    mutating func button(_ label: HostedText, to path: String, _ hidden: [(String, String)]) {
        body += Self.form(path, hidden) + button(label) + "</form>"
    }

    /// Adds a sign-in button for each provider.
    mutating func providers(
        _ providers: [ProviderRow], to path: String, _ hidden: [(String, String)] = []
    ) {
        for provider in providers {
            button(
                "Continue with \(provider.name)", to: path,
                [("provider", provider.id.description)] + hidden)
        }
    }

    mutating func passwordForm(of email: String, to path: String, _ hidden: [(String, String)]) {
        body +=
            Self.form(path, hidden) + """
                <label for="email">\(said("Address"))</label>\
                <input id="email" type="email" value="\(htmlEscaped(email))" readonly \
                autocomplete="username">\
                <label for="password">\(said("Password"))</label>\
                <input id="password" name="password" type="password" required \
                autocomplete="current-password">\(button("Continue with the password"))</form>
                """
    }

    /// Adds a form in which the person chooses one of these values.
    mutating func choice(
        _ legend: HostedText, _ name: String, _ values: [(id: String, label: String)],
        to path: String, _ hidden: [(String, String)]
    ) {
        body += Self.form(path, hidden) + "<fieldset><legend>\(said(legend))</legend>"
        for value in values {
            body += """
                <label class="choice"><input type="radio" name="\(name)" required \
                value="\(htmlEscaped(value.id))"> \(htmlEscaped(value.label))</label>
                """
        }
        body += "</fieldset>\(button("Continue"))</form>"
    }

    /// Adds a form for a link grant. The script reads the grant from the fragment of the address
    /// (after `#`); if a mail program removed it, the person can paste it. Nothing is sent before
    /// the person presses the button.
    mutating func takesGrant(at path: String) {
        body +=
            "<details id=\"grant\"><summary>\(said("I have a link or a code"))</summary>"
            + Self.form(path, []) + "<p id=\"given\" hidden>"
            + "\(said("This link adds a sign-in to an account. The next page says which."))</p>"
            + "<div id=\"pasted\"><label for=\"code\">\(said("The whole link, or its code"))</label>"
            + "<input id=\"code\" name=\"grant\" type=\"text\" required autocomplete=\"off\" "
            + "spellcheck=\"false\" maxlength=\"2048\"></div>\(button("Continue"))</form></details>"
            + "<script>\(Self.script)</script>"
    }

    /// The script that reads a grant from the address. If the address has a grant, the script fills
    /// in the form for it and hides all other forms.
    private static let script = """
        const find=id=>document.getElementById(id);\
        const take=()=>{const hash=location.hash;if(!/grant(=|%3D)/i.test(hash))return;\
        history.replaceState(null,"",location.pathname);\
        const part=find("grant");part.open=true;find("code").value=hash.slice(1);\
        find("given").hidden=false;find("pasted").hidden=true;\
        part.querySelector("summary").hidden=true;\
        for(const form of document.forms)form.hidden=!part.contains(form)};\
        take();addEventListener("hashchange",take)
        """

    func response(_ status: Int = 200, cookies: [Field] = []) -> Response {
        let html = """
            <!doctype html><html lang="\(language.rawValue)"><head><meta charset="utf-8">\
            <title>\(htmlEscaped(title))</title>\
            <meta name="viewport" content="width=device-width,initial-scale=1">\
            <meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">\
            <link rel="icon" href="/favicon.svg" type="image/svg+xml">\
            <style>\(Self.style)</style>\(colours.isEmpty ? "" : "<style>\(colours)</style>")\
            </head><body><main>\(body)</main>\
            \(footer.isEmpty ? "" : "<footer>\(htmlEscaped(footer))</footer>")</body></html>
            """
        var answer = Response(status, type: "text/html; charset=utf-8", Array(html.utf8))
        answer.fields += [Field("content-security-policy", policy)] + Self.fields + cookies
        return answer
    }

    private static func form(_ path: String, _ hidden: [(String, String)]) -> String {
        hidden.reduce(into: "<form method=\"post\" action=\"\(htmlEscaped(path))\">") {
            form, pair in
            form += "<input type=\"hidden\" name=\"\(pair.0)\" value=\"\(htmlEscaped(pair.1))\">"
        }
    }

    private func button(_ label: HostedText) -> String { "<button>\(said(label))</button>" }

    private func said(_ text: HostedText) -> String { htmlEscaped(text.said(in: language)) }

    /// The content security policy. Forms may lead to every https address and to this machine,
    /// because they redirect to the provider and browsers apply `form-action` to redirects too.
    private var policy: String {
        let own = colours.isEmpty ? "" : " \(Self.digest(of: colours))"
        return "default-src 'none'; style-src \(Self.styleDigest)\(own); "
            + "script-src \(Self.scriptDigest); img-src 'self'; "
            + "base-uri 'none'; frame-ancestors 'none'; "
            + "form-action 'self' https: http://127.0.0.1:* http://localhost:*"
    }

    private static let styleDigest = digest(of: style)
    private static let scriptDigest = digest(of: script)

    private static func digest(of text: String) -> String {
        "'sha256-\(Base64.encode(SHA256.hash(Array(text.utf8))))'"
    }

    private static let fields = [
        Field("x-content-type-options", "nosniff"),
        // This is not `no-referrer`, with which browsers would send forms with `Origin: null`.
        Field("referrer-policy", "same-origin"), Field("cache-control", "no-store"),
        Field("vary", "accept-language"),
        Field("cross-origin-opener-policy", "same-origin"),
    ]

    private static let style = """
        :root{color-scheme:light dark;--bg:light-dark(#f6f7f9,#0f1216);\
        --card:light-dark(#fff,#161a20);--text:light-dark(#15181e,#e8ebf0);\
        --dim:light-dark(#5a6371,#98a2b0);--line:light-dark(#767f8c,#78828f);\
        --act:light-dark(#1f4fd8,#9bb6ff);--fill:var(--act);--on:light-dark(#fff,#0f1216);\
        --bad:light-dark(#a11221,#ff9a9f)}\
        *{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;\
        place-content:center;\
        background:var(--bg);color:var(--text);font:16px/1.5 system-ui,sans-serif}\
        main{width:min(26rem,100vw - 2rem);margin:1rem;padding:2rem;background:var(--card);\
        border-radius:12px;overflow-wrap:anywhere}.name{margin:0;color:var(--dim);font-weight:600}\
        .logo{display:block;max-width:12rem;height:3rem;margin-bottom:1rem;object-fit:contain;\
        object-position:left}footer{padding:0 1rem 1rem;color:var(--dim);font-size:.8rem}\
        h1{margin:.25rem 0 1rem;font-size:1.4rem;line-height:1.25}.alert{color:var(--bad)}\
        form{margin:.75rem 0}label{display:block;margin:.5rem 0 .25rem}\
        fieldset{border:0;margin:0;padding:0}legend{padding:0;margin-bottom:.5rem}\
        summary{padding:.625rem 0;cursor:pointer;color:var(--act)}\
        input[type=email],input[type=password],input[type=text]{width:100%;min-height:44px;padding:.5rem .75rem;\
        border:1px solid var(--line);border-radius:8px;background:transparent;color:inherit;\
        font:inherit}.choice{padding:.625rem 0}button,.act{width:100%;min-height:44px;margin-top:.5rem;\
        border:0;border-radius:8px;background:var(--fill);color:var(--on);font:inherit;\
        font-weight:600;cursor:pointer}.act{display:block;padding:.6rem .5rem;text-align:center;\
        text-decoration:none}:focus-visible{outline:3px solid var(--act);\
        outline-offset:2px}
        """
}

/// The languages of the hosted pages.
enum HostedLanguage: String, CaseIterable {
    case english = "en"
    case german = "de"

    /// Chooses the language that the browser prefers (RFC 9110, section 12.5.4); English if the
    /// browser accepts neither English nor German.
    init(_ request: Request) {
        var best: (language: Self, quality: Double)?
        for range in request.all("accept-language").flatMap({ $0.split(separator: ",") }).prefix(32)
        {
            let parts = range.filter { $0 != " " }.split(separator: ";")
            guard let tag = parts.first?.lowercased().split(separator: "-").first,
                let language = Self(rawValue: String(tag))
            else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
            let quality = weight.flatMap { Double($0.dropFirst(2)) } ?? 1
            if quality > best?.quality ?? 0 { best = (language, quality) }
        }
        self = best?.language ?? .english
    }
}

/// A sentence of a hosted page. Its values are kept separately, so that the sentence can be
/// translated: `"Add \(provider)?"` is the sentence `Add {}?` with one value.
struct HostedText: ExpressibleByStringInterpolation {
    struct StringInterpolation: StringInterpolationProtocol {
        var sentence = ""
        var values: [String] = []

        init(literalCapacity: Int, interpolationCount: Int) {}
        mutating func appendLiteral(_ literal: String) { sentence += literal }
        mutating func appendInterpolation(_ value: String) {
            sentence += "{}"
            values.append(value)
        }
    }

    private let sentence: String
    private let values: [String]

    init(stringLiteral text: String) {
        sentence = text
        values = []
    }

    init(stringInterpolation text: StringInterpolation) {
        sentence = text.sentence
        values = text.values
    }

    /// Returns the sentence in this language, with its values; in English if there is no
    /// translation.
    func said(in language: HostedLanguage) -> String {
        let said = language == .german ? HostedGerman.sentences[sentence] ?? sentence : sentence
        var text = ""
        var rest = values[...]
        for (index, part) in said.split(separator: "{}", omittingEmptySubsequences: false)
            .enumerated()
        {
            if index > 0 { text += rest.popFirst() ?? "" }
            text += part
        }
        return text
    }
}
