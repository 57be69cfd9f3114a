import Cryptography
import Domain
import JSON
import Text

/// The OpenAPI document as an HTML page: every operation with its parameters and responses.
extension OpenAPIDocument {
    /// The HTML of the page. It contains no script.
    package var page: [UInt8] {
        guard let document = try? JSONValue(parsing: bytes) else { return [] }
        var page = DocumentWriter(document)
        page.write()
        return Array(page.html.utf8)
    }
}

private struct DocumentWriter {
    private struct Operation {
        var method: String
        var path: String
        var value: JSONValue

        var id: String { value["operationId"]?.string ?? "" }
        var tag: String { value["tags"]?.array?.first?.string ?? "" }
    }

    private let document: JSONValue
    private var operations: [Operation] = []
    private(set) var html = ""

    init(_ document: JSONValue) {
        self.document = document
        for path in document["paths"]?.members ?? [] {
            for method in path.value.members ?? [] {
                operations.append(
                    Operation(method: method.name, path: path.name, value: method.value))
            }
        }
    }

    mutating func write() {
        let tags = (document["tags"]?.array ?? []).compactMap { $0["name"]?.string }
        html = """
            <!doctype html><html lang="en"><head><meta charset="utf-8"><title>Gatehouse API</title>
            <meta name="viewport" content="width=device-width,initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <link rel="icon" href="/favicon.svg" type="image/svg+xml">
            <style>\(DocumentPage.style)</style></head><body><div class="page">
            <nav aria-label="Contents"><b>Gatehouse API</b>
            """
        for tag in tags { html += "<a href=\"#\(Self.anchor(tag))\">\(htmlEscaped(tag))</a>" }
        html += "<a href=\"#Scopes\">Scopes</a></nav><main>"
        introduction()
        scopes()
        for tag in tags {
            html += "<h2 id=\"\(Self.anchor(tag))\">\(htmlEscaped(tag))</h2>"
            for operation in operations where operation.tag == tag { write(operation) }
        }
        html += "</main></div></body></html>"
    }

    private mutating func introduction() {
        let version = document["info"]?["version"]?.string ?? ""
        html += """
            <h1>Gatehouse API</h1><p class="dim">Version \(htmlEscaped(version)),
            \(operations.count) operations; as a document for tools:
            <a href="/openapi.json">/openapi.json</a>.</p>
            <h3>A first call</h3>
            <pre tabindex="0">curl -H "Authorization: Bearer $KEY" "$URL/v1/me"</pre>
            <p>The console issues the first key; by a shell on the server,
            <code>gatehouse key issue --name first --scopes users:read --tenant demo</code>.</p>
            <p>Send <code>Authorization: Bearer</code> and an API key. Bodies are JSON in snake_case,
            times RFC 3339 in UTC. A refusal is <code>application/problem+json</code>: branch on
            its <code>code</code>. Lists take <code>limit</code> and <code>cursor</code>. With
            <code>Accept: text/csv</code> or <code>application/x-ndjson</code> a list comes whole, as
            a file, with every filter and sort; a file that ends with a cut connection is not whole.
            A POST with an <code>Idempotency-Key</code> may be sent again and gets the same response.</p>
            """
    }

    private mutating func scopes() {
        html += """
            <h2 id="Scopes">Scopes</h2><p>What a key is issued with:
            <code>{"scopes":["users:read"]}</code>. A key may also have scopes of the tenant's own
            catalogue. They give no rights here; the verification of a key returns them.</p>
            <div class="scroll"><table>
            """
        for scope in ManagementScope.allCases {
            html += "<tr><td><code>\(scope.rawValue)</code></td>"
            html += "<td>\(htmlEscaped(scope.summary))</td></tr>"
        }
        html += "</table></div>"
    }

    private mutating func write(_ operation: Operation) {
        let summary = operation.value["summary"]?.string ?? ""
        html += """
            <details id="\(Self.anchor(operation.id))"><summary>
            <span class="verb \(operation.method)">\(operation.method.uppercased())</span>
            <span class="path">\(htmlEscaped(operation.path))</span>
            <span class="what">\(Self.marked(summary))</span></summary><div class="body">
            """
        if let text = operation.value["description"]?.string {
            html += "<p>\(Self.marked(text))</p>"
        }
        parameters(operation.value["parameters"]?.array ?? [])
        if let media = operation.value["requestBody"]?["content"]?.members?.first {
            example("Body", media.name, media.value["example"])
            fields(media.value["schema"], isInput: true)
        }
        answers(operation.value["responses"]?.members ?? [])
        html += "</div></details>"
    }

    private mutating func parameters(_ parameters: [JSONValue]) {
        guard !parameters.isEmpty else { return }
        html += "<h3>Parameters</h3><div class=\"scroll\"><table>"
        for parameter in parameters {
            let name = htmlEscaped(parameter["name"]?.string ?? "")
            let location = htmlEscaped(parameter["in"]?.string ?? "")
            let need = parameter["required"] == .bool(true) ? ", required" : ""
            let text = Self.marked(parameter["description"]?.string ?? "")
            let type = DocumentFields(document: document).type(of: parameter["schema"] ?? .null)
            html += "<tr><td><code>\(name)</code></td><td class=\"dim\">\(location)\(need)</td>"
            html += "<td class=\"dim\">\(Self.marked(type))</td><td>\(text)</td></tr>"
        }
        html += "</table></div>"
    }

    /// Writes one line for each member: its name, whether it is required, and its type.
    private mutating func fields(_ schema: JSONValue?, isInput: Bool) {
        let lines = DocumentFields(document: document).lines(of: schema ?? .null, isInput: isInput)
        guard !lines.isEmpty else { return }
        html += "<div class=\"scroll\"><table>"
        for line in lines {
            let need = isInput ? line.isRequired ? "required" : "optional" : ""
            html += "<tr><td><code>\(htmlEscaped(line.name))</code></td>"
            if isInput { html += "<td class=\"dim\">\(need)</td>" }
            html += "<td class=\"dim\">\(Self.marked(line.type))</td>"
            html += "<td>\(Self.marked(line.text))</td></tr>"
        }
        html += "</table></div>"
    }

    private mutating func answers(_ answers: [JSONValue.Member]) {
        for answer in answers {
            if let media = answer.value["content"]?.members?.first, answer.name.hasPrefix("2") {
                example("Answer \(answer.name)", media.name, media.value["example"])
                fields(media.value["schema"], isInput: false)
            } else if answer.name.hasPrefix("2") {
                html += "<h3>Answer \(answer.name)</h3>"
            }
        }
        let refusals = answers.filter { !$0.name.hasPrefix("2") }
        guard !refusals.isEmpty else { return }
        html += "<h3>Refusals</h3><div class=\"scroll\"><table>"
        for refusal in refusals {
            let text = Self.marked(refusal.value["description"]?.string ?? "")
            html += "<tr><td>\(refusal.name)</td><td>\(text)</td></tr>"
        }
        html += "</table></div>"
    }

    private mutating func example(_ title: String, _ type: String, _ value: JSONValue?) {
        html += "<h3>\(title) <span class=\"dim\">\(htmlEscaped(type))</span></h3>"
        guard let value else { return }
        html += "<pre tabindex=\"0\">\(htmlEscaped(Self.indented(value, "")))</pre>"
    }

    /// The JSON text of an example, indented, with one line for each member.
    private static func indented(_ value: JSONValue, _ margin: String) -> String {
        let inner = margin + "  "
        if let members = value.members, !members.isEmpty {
            let lines = members.map {
                inner + String(decoding: JSONValue.string($0.name).encoded(), as: UTF8.self) + ": "
                    + indented($0.value, inner)
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(margin)}"
        }
        if let items = value.array, !items.isEmpty {
            let lines = items.map { inner + indented($0, inner) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(margin)]"
        }
        return String(decoding: value.encoded(), as: UTF8.self)
    }

    /// The text as HTML. Parts in backquotes become `<code>`.
    private static func marked(_ text: String) -> String {
        let parts = htmlEscaped(text).split(separator: "`", omittingEmptySubsequences: false)
        guard parts.count % 2 == 1 else { return htmlEscaped(text) }
        var marked = ""
        for (index, part) in parts.enumerated() {
            marked += index % 2 == 1 ? "<code>\(part)</code>" : String(part)
        }
        return marked
    }

    private static func anchor(_ text: String) -> String {
        String(
            text.unicodeScalars.map {
                $0.isASCII && $0.properties.isAlphabetic ? Character($0) : "-"
            })
    }
}

/// The style of the documentation page; inline, so that the page is one response without a script.
package enum DocumentPage {
    /// The SHA-256 hash of the style in base64, for the Content-Security-Policy.
    package static var styleDigest: String { Base64.encode(SHA256.hash(Array(style.utf8))) }

    static let style = """
        :root{color-scheme:light dark;--bg:light-dark(#fff,#0f1216);--card:light-dark(#f6f7f9,#161a20);
        --text:light-dark(#15181e,#e8ebf0);--dim:light-dark(#5a6371,#98a2b0);
        --line:light-dark(#d5d9e0,#303844);--accent:light-dark(#1d5bc9,#82b1ff);
        --get:light-dark(#13663a,#72d49c);--post:light-dark(#1d5bc9,#82b1ff);
        --put:light-dark(#774a00,#f0c35a);--delete:light-dark(#b3261e,#ff9288)}
        *{box-sizing:border-box}
        body{margin:0;background:var(--bg);color:var(--text);
        font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
        code,pre,.path{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875em}
        .page{display:grid;grid-template-columns:15rem minmax(0,1fr);max-width:74rem;margin:auto}
        nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto;padding:24px 16px}
        nav a{display:block;padding:6px 8px;border-radius:6px;color:inherit;text-decoration:none}
        nav a:hover{background:var(--card);color:var(--accent)}
        main{padding:24px 16px 64px}h1{font-size:1.75rem;margin:0 0 8px}
        h2{font-size:1.25rem;margin:40px 0 12px;padding-top:8px}h3{font-size:.875rem;margin:20px 0 6px}
        p{margin:6px 0}.dim{color:var(--dim)}a{color:var(--accent)}
        details{border:1px solid var(--line);border-radius:8px;margin:8px 0;background:var(--card)}
        summary{display:flex;flex-wrap:wrap;gap:4px 12px;align-items:baseline;padding:10px 12px;cursor:pointer;
        list-style:none}summary::-webkit-details-marker{display:none}
        summary:focus-visible,a:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
        .verb{min-width:4.2em;font-weight:700;font-size:.8125rem}.path{overflow-wrap:anywhere;font-weight:600}
        .get{color:var(--get)}.post{color:var(--post)}.put,.patch{color:var(--put)}.delete{color:var(--delete)}
        .what{flex:1 1 16rem;color:var(--dim)}.body{padding:0 12px 16px;border-top:1px solid var(--line)}
        table{border-collapse:collapse;width:100%;font-size:.875rem}
        th{text-align:left;font-weight:600;color:var(--dim)}
        td,th{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
        td:first-child{white-space:nowrap}
        pre{margin:0;padding:12px;overflow:auto;background:var(--bg);border:1px solid var(--line);border-radius:6px}
        .scroll{overflow-x:auto}
        @media(max-width:48rem){.page{display:block}nav{position:static;max-height:none;padding-bottom:0;
        display:flex;flex-wrap:wrap}nav b{width:100%}td:first-child{white-space:normal}}
        @media print{nav{display:none}}
        """
}
