import Domain
import JSON
import Text

/// The OpenAPI document as an HTML page: every operation with its parameters and responses.
extension OpenAPIDocument {
    /// HTML, without script.
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
            its <code>code</code>. Lists take <code>limit</code> and <code>cursor</code>, or
            come whole as a file, with every filter and sort, by <code>Accept: text/csv</code> or
            <code>application/x-ndjson</code>; one that ends by a cut connection is not whole. A POST
            with an <code>Idempotency-Key</code> may be sent again and gives the same answer.</p>
            """
    }

    private mutating func scopes() {
        html += """
            <h2 id="Scopes">Scopes</h2><p>What a key is issued with:
            <code>{"scopes":["users:read"]}</code>. Besides these, words of the tenant's own
            catalogue, which give no right here and are told by verification.</p>
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

    /// One line per member: name, whether it is required, type.
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

    /// One line per member.
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

    /// Text whose `code` is set as such.
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
