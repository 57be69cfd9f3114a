import Cryptography
import Domain
import JSON
import Text

/// The OpenAPI document as an HTML page: the guides, and every operation with its parameters and
/// responses.
extension OpenAPIDocument {
    /// The HTML of the page, with the style and the script of `DocumentPage`.
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
        html = DocumentPage.head("Gatehouse API")
        html += """
            <nav aria-label="Contents"><b>Gatehouse API</b>
            <label hidden>Search <kbd>/</kbd> <input type="search" id="find"
            autocomplete="off" spellcheck="false"></label><p id="found" role="status"></p>
            """
        for guide in DocumentGuide.all {
            html += "<a href=\"#\(Self.anchor(guide.title))\">\(htmlEscaped(guide.title))</a>"
        }
        html += """
            <a href="#Scopes">Scopes</a><a href="#Audit-actions">Audit actions</a>
            <a href="/docs/errors">All errors</a><b>Operations</b>
            """
        for tag in tags { contents(tag) }
        html += "</nav><main>"
        introduction()
        for tag in tags {
            html += "<section><h2 id=\"\(Self.anchor(tag))\">\(htmlEscaped(tag))</h2>"
            for operation in operations where operation.tag == tag { write(operation) }
            html += "</section>"
        }
        html += "</main></div><script>\(DocumentPage.script)</script></body></html>"
    }

    /// The list of a tag's operations, in the contents.
    private mutating func contents(_ tag: String) {
        html += "<details><summary>\(htmlEscaped(tag))</summary>"
        for operation in operations where operation.tag == tag {
            html += "<a href=\"#\(Self.anchor(operation.id))\">"
            html += "<span class=\"\(operation.method)\">\(operation.method.uppercased())</span> "
            html += "\(Self.breakable(operation.path))</a>"
        }
        html += "</details>"
    }

    /// The path, which a narrow line may break after each slash.
    private static func breakable(_ path: String) -> String {
        htmlEscaped(path).split(separator: "/", omittingEmptySubsequences: false)
            .joined(separator: "/<wbr>")
    }

    private mutating func introduction() {
        let version = document["info"]?["version"]?.string ?? ""
        html += """
            <h1>Gatehouse API</h1><p class="dim">Version \(htmlEscaped(version)),
            \(operations.count) operations; as a document for tools:
            <a href="/openapi.json">/openapi.json</a>.</p>
            """
        for guide in DocumentGuide.all {
            html += "<section class=\"guide\"><h2 id=\"\(Self.anchor(guide.title))\">"
            html += "\(htmlEscaped(guide.title))</h2>\(guide.html)</section>"
        }
        scopes()
        auditActions()
    }

    private mutating func auditActions() {
        html += """
            <section class="guide"><h2 id="Audit-actions">Audit actions</h2><p>The values of <code>action</code> in the audit
            log. More may be added.</p><details><summary>All
            \(AuditAction.allCases.count)</summary><div class="body scroll"><table>
            """
        for action in AuditAction.allCases {
            html += "<tr><td><code>\(action.rawValue)</code></td>"
            html += "<td>\(DocumentPage.marked(action.summary))</td></tr>"
        }
        html += "</table></div></details></section>"
    }

    private mutating func scopes() {
        html += """
            <section class="guide"><h2 id="Scopes">Scopes</h2><p>What a key is issued with:
            <code>{"scopes":["users:read"]}</code>. A key may also have scopes of the tenant's own
            catalogue. They give no rights here; the verification of a key returns them.</p>
            <div class="scroll"><table>
            """
        for scope in ManagementScope.allCases {
            html += "<tr><td><code>\(scope.rawValue)</code></td>"
            html += "<td>\(htmlEscaped(scope.summary))</td></tr>"
        }
        html += "</table></div></section>"
    }

    private mutating func write(_ operation: Operation) {
        let summary = operation.value["summary"]?.string ?? ""
        html += """
            <details class="op" id="\(Self.anchor(operation.id))"><summary>
            <span class="verb \(operation.method)">\(operation.method.uppercased())</span>
            <span class="path">\(htmlEscaped(operation.path))</span>
            <span class="what">\(DocumentPage.marked(summary))</span></summary><div class="body">
            """
        html += DocumentPage.paragraphs(operation.value["description"]?.string ?? "")
        let security = operation.value["security"]?.array ?? []
        if security.isEmpty || security.contains(where: { $0["session"] == nil }) {
            html += "<pre tabindex=\"0\" class=\"call\">"
            html += "\(htmlEscaped(call(of: operation, security)))</pre>"
        } else {
            html += "<p>Only the console's own pages send this request. No API key may send it.</p>"
        }
        parameters(operation.value["parameters"]?.array ?? [])
        for media in operation.value["requestBody"]?["content"]?.members ?? [] {
            title("Body", media.name)
            html += DocumentPage.paragraphs(media.value["schema"]?["description"]?.string ?? "")
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
            let text = DocumentPage.marked(parameter["description"]?.string ?? "")
            let type = DocumentFields(document: document).type(of: parameter["schema"] ?? .null)
            html += "<tr><td><code>\(name)</code></td><td class=\"dim\">\(location)\(need)</td>"
            html += "<td class=\"dim\">\(DocumentPage.marked(type))</td><td>\(text)</td></tr>"
        }
        html += "</table></div>"
    }

    /// Writes a table for each form that a value of the schema may have.
    private mutating func fields(_ schema: JSONValue?, isInput: Bool) {
        let forms = DocumentFields(document: document).forms(of: schema ?? .null, isInput: isInput)
        for (index, lines) in forms.enumerated() {
            if forms.count > 1 { html += "<p>\(index == 0 ? "Either" : "Or"):</p>" }
            table(lines, isInput: isInput)
        }
    }

    /// Writes one line for each member: its name, whether it is required, and its type.
    private mutating func table(_ lines: [DocumentFields.Line], isInput: Bool) {
        html += "<div class=\"scroll\"><table>"
        for line in lines {
            let need = isInput ? line.isRequired ? "required" : "optional" : ""
            html += "<tr><td><code>\(htmlEscaped(line.name))</code></td>"
            if isInput { html += "<td class=\"dim\">\(need)</td>" }
            html += "<td class=\"dim\">\(DocumentPage.marked(line.type))</td>"
            html += "<td>\(DocumentPage.marked(line.text))</td></tr>"
        }
        html += "</table></div>"
    }

    private mutating func answers(_ answers: [JSONValue.Member]) {
        for answer in answers {
            if let media = answer.value["content"]?.members?.first, answer.name.hasPrefix("2") {
                title("Answer \(answer.name)", media.name)
                let text = answer.value["description"]?.string ?? ""
                if !Answer.isUsual(text) { html += "<p>\(DocumentPage.marked(text))</p>" }
                example(media.value["example"])
                fields(media.value["schema"], isInput: false)
                files(answer.value["content"]?.members ?? [])
            } else if answer.name.hasPrefix("2") {
                html += "<h3>Answer \(answer.name)</h3>"
            }
        }
        let refusals = answers.filter { !$0.name.hasPrefix("2") }
        guard !refusals.isEmpty else { return }
        html += "<h3>Refusals</h3><div class=\"scroll\"><table>"
        for refusal in refusals {
            let text = DocumentPage.marked(refusal.value["description"]?.string ?? "")
            html += "<tr><td>\(refusal.name)</td><td>\(text)</td></tr>"
        }
        html += "</table></div>"
    }

    /// Writes the media types of files that `Accept` can request instead of the first one.
    private mutating func files(_ media: [JSONValue.Member]) {
        for media in media.dropFirst() {
            guard let text = media.value["schema"]?["description"]?.string else { continue }
            html += "<p>With <code>Accept: \(htmlEscaped(media.name))</code>: "
            html += "\(DocumentPage.marked(text))</p>"
        }
    }

    private mutating func title(_ title: String, _ type: String) {
        html += "<h3>\(title) <span class=\"dim\">\(htmlEscaped(type))</span></h3>"
    }

    /// The request of an operation for a shell, with the example of its body.
    private func call(of operation: Operation, _ security: [JSONValue]) -> String {
        let parameters = operation.value["parameters"]?.array ?? []
        let required = parameters.filter { $0["required"] == .bool(true) }
        var path = operation.path
        for parameter in required where parameter["in"]?.string == "path" {
            let name = parameter["name"]?.string ?? ""
            path = path.replacing("{\(name)}", with: "$\(name.uppercased())")
        }
        let query = required.filter { $0["in"]?.string == "query" }.map { parameter in
            let name = parameter["name"]?.string ?? ""
            return "\(name)=\(name == "q" ? "ada" : Self.example(of: parameter["schema"]))"
        }
        if !query.isEmpty { path += "?" + query.joined(separator: "&") }
        var lines = ["curl "]
        if operation.method != "get" { lines[0] += "-X \(operation.method.uppercased()) " }
        lines[0] += "\"$URL\(path)\""
        if !security.isEmpty {
            let isToken = security.contains { $0["idToken"] != nil }
            lines.append("-H \"Authorization: Bearer \(isToken ? "$ID_TOKEN" : "$KEY")\"")
        }
        if parameters.contains(where: { $0["name"]?.string == "Idempotency-Key" }) {
            lines.append("-H \"Idempotency-Key: $(uuidgen)\"")
        }
        if required.contains(where: { $0["name"]?.string == "If-Match" }) {
            lines.append("-H \"If-Match: $ETAG\"")
        }
        guard let media = operation.value["requestBody"]?["content"]?.members?.first else {
            return lines.joined(separator: " \\\n  ")
        }
        if media.name == "application/x-www-form-urlencoded" {
            for field in media.value["schema"]?["properties"]?.members ?? [] {
                lines.append("-d '\(field.name)=\(Self.example(of: field.value))'")
            }
        } else {
            lines.append("-H 'Content-Type: \(media.name)'")
            if let example = media.value["example"] {
                let text = Self.indented(example, "").replacing("'", with: "'\\''")
                lines.append("-d '\(text)'")
            } else {
                lines.append("--data-binary @file")
            }
        }
        return lines.joined(separator: " \\\n  ")
    }

    /// A value of a required query parameter.
    private static func example(of schema: JSONValue?) -> String {
        schema?["enum"]?.array?.first?.string ?? schema?["examples"]?.array?.first?.string ?? "…"
    }

    private mutating func example(_ value: JSONValue?) {
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

    private static func anchor(_ text: String) -> String {
        String(
            text.unicodeScalars.map {
                $0.isASCII && $0.properties.isAlphabetic ? Character($0) : "-"
            })
    }
}

/// The style and the script of the documentation pages; inline, so that a page is one response.
package enum DocumentPage {
    /// The SHA-256 hashes in base64, for the Content-Security-Policy.
    package static var styleDigest: String { Base64.encode(SHA256.hash(Array(style.utf8))) }
    package static var scriptDigest: String { Base64.encode(SHA256.hash(Array(script.utf8))) }

    /// The beginning of a page, up to its navigation.
    static func head(_ title: String) -> String {
        """
        <!doctype html><html lang="en"><head><meta charset="utf-8"><title>\(title)</title>
        <meta name="viewport" content="width=device-width,initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <link rel="icon" href="/favicon.svg" type="image/svg+xml">
        <style>\(style)</style></head><body><div class="page">
        """
    }

    /// The page of all errors, to which the `type` of each problem leads.
    package static var errors: [UInt8] {
        var html = head("Errors of the Gatehouse API")
        html += """
            <nav aria-label="Contents"><b>Errors</b><a href="/docs">Gatehouse API</a>
            """
        for code in Code.allCases {
            html += "<a href=\"#\(code.rawValue)\">\(code.rawValue)</a>"
        }
        html += """
            <a href="#members">Errors of members</a></nav><main><h1>All errors</h1>
            <p>A refusal is a document of the type <code>application/problem+json</code> (RFC 9457).
            Branch on its <code>code</code>. <code>detail</code> says in words what is wrong with this
            request, and <code>request_id</code> finds it in the server's log. More codes may be added:
            treat an unknown one by the status of the response. The number beside a code is its
            usual status. The Cognito hook, <code>POST /v1/hooks/pre-signup/cognito</code>, answers
            every reason for which it refuses a person with 403.</p>
            <p>A stored refusal is repeated for its <code>Idempotency-Key</code>: after a
            correction, send a new key. 401, 429, 5xx and <code>step_up_required</code> are not
            stored.</p>
            """
        for code in Code.allCases {
            html += """
                <section><h2 id="\(code.rawValue)"><code>\(code.rawValue)</code>
                <span class="dim">\(code.shownStatus)</span></h2>
                <p>\(marked(code.text.cause))</p><p>\(marked(code.text.remedy))</p></section>
                """
        }
        html += """
            <section><h2 id="members">Errors of members</h2><p>The items of <code>errors</code>, which
            <code>validation_failed</code> has: <code>pointer</code> names the member of the body, or
            <code>?name</code> a parameter of the query.</p><div class="scroll"><table>
            """
        for code in FieldCode.allCases {
            html += "<tr><td><code>\(code.rawValue)</code></td><td>\(marked(code.text))</td></tr>"
        }
        return Array((html + "</table></div></section></main></div></body></html>").utf8)
    }

    /// Markdown as HTML: paragraphs and blocks of code, with empty lines between them.
    static func paragraphs(_ text: String) -> String {
        var html = ""
        for part in text.split(separator: "\n\n") {
            let lines = part.split(separator: "\n")
            if lines.count > 2, lines[0] == "```", lines[lines.count - 1] == "```" {
                let code = lines.dropFirst().dropLast().joined(separator: "\n")
                html += "<pre tabindex=\"0\" class=\"call\">\(htmlEscaped(code))</pre>"
            } else {
                html += "<p>\(marked(lines.joined(separator: " ")))</p>"
            }
        }
        return html
    }

    /// The text as HTML. Parts in backquotes become `<code>`, and `[text](address)` a link.
    static func marked(_ text: String) -> String {
        let parts = htmlEscaped(text).split(separator: "`", omittingEmptySubsequences: false)
        guard parts.count % 2 == 1 else { return htmlEscaped(text) }
        var marked = ""
        for (index, part) in parts.enumerated() {
            marked += index % 2 == 1 ? "<code>\(part)</code>" : linked(String(part))
        }
        return marked
    }

    /// The text with its first `[text](address)` as a link.
    private static func linked(_ text: String) -> String {
        let parts = text.split(separator: "](", maxSplits: 1).map(String.init)
        guard parts.count == 2, let start = parts[0].lastIndex(of: "["),
            let end = parts[1].firstIndex(of: ")")
        else { return text }
        let name = parts[0][parts[0].index(after: start)...]
        let rest = parts[1][parts[1].index(after: end)...]
        return "\(parts[0][..<start])<a href=\"\(parts[1][..<end])\">\(name)</a>\(rest)"
    }

    /// Opens the operation that the address names, searches, and copies calls with this server's
    /// address. Without it the page still has all its text.
    static let script = """
        const $=(s,e=document)=>[...e.querySelectorAll(s)],find=document.getElementById("find"),
        found=document.getElementById("found"),ops=$(".op");
        const show=()=>{const e=document.getElementById(decodeURIComponent(location.hash.slice(1)));
        if(e?.matches("details")){e.open=true;e.scrollIntoView()}};
        addEventListener("hashchange",show);show();
        find.parentElement.hidden=false;
        const guides=$(".guide"),text=e=>e.textContent.toLowerCase();
        const heads=new Map(ops.map(e=>[e,e.id.toLowerCase()+" "+text(e.querySelector("summary"))]));
        const search=()=>{const words=find.value.toLowerCase().split(/\\s+/).filter(Boolean);
        const has=t=>words.every(w=>t.includes(w));let hits=ops.filter(e=>has(heads.get(e)));
        if(hits.length<4)hits=hits.concat(ops.filter(e=>!hits.includes(e)&&has(text(e))));
        for(const e of ops)e.hidden=!hits.includes(e);
        for(const e of guides)e.hidden=!has(text(e));
        for(const e of $("main section:not(.guide)"))e.hidden=!$(".op",e).some(o=>!o.hidden);
        document.body.classList.toggle("searching",words.length);const n=hits.length;
        found.textContent=words.length?n===1?"1 operation":n+" operations":""};
        find.addEventListener("input",search);
        find.addEventListener("keydown",e=>{const one=ops.find(o=>!o.hidden);
        if(e.key==="Escape"){find.value="";search()}
        if(e.key==="Enter"&&one){location.hash=one.id;show();one.querySelector("summary").focus()}});
        addEventListener("keydown",e=>{if(e.key==="/"&&!e.target.matches("input")&&!e.ctrlKey&&!e.metaKey){
        e.preventDefault();find.focus();find.select()}});
        for(const pre of $("pre.call")){pre.textContent=pre.textContent.replaceAll("$URL",location.origin);
        if(!navigator.clipboard)continue;
        const b=document.createElement("button");b.textContent="Copy";b.type="button";
        b.addEventListener("click",async()=>{await navigator.clipboard.writeText(pre.textContent);
        b.textContent="Copied";setTimeout(()=>b.textContent="Copy",2000)});pre.before(b)}
        """

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
        .scroll{overflow-x:auto}nav details{border:0;margin:0;background:none}
        nav summary{padding:6px 8px}nav b{display:block;margin:12px 0 4px}nav details a{font-size:.8125rem}
        nav details span{font-weight:700}label{display:block;margin:8px 0 0}
        label[hidden],[hidden]{display:none}input{font:inherit;width:100%;padding:6px 8px;color:inherit;
        background:var(--bg);border:1px solid var(--dim);border-radius:6px}
        input:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
        kbd{font:inherit;border:1px solid var(--line);border-radius:4px;padding:0 5px}
        button{float:right;margin:6px;font:inherit;font-size:.8125rem;padding:4px 10px;color:inherit;
        background:var(--card);border:1px solid var(--dim);border-radius:6px;cursor:pointer}
        .searching main>:not(section){display:none}
        @media(max-width:48rem){.page{display:block}nav{position:static;max-height:none;padding-bottom:0;
        display:flex;flex-wrap:wrap}nav b{width:100%}td:first-child{white-space:normal}
        button{float:none;display:block;margin:8px 0 4px auto}}
        @media print{nav{display:none}}
        """
}
