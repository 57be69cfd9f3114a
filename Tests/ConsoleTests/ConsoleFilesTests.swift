import HTTP
import Testing

@testable import Gatehouse

private let files = Result { () throws(ConsoleFilesError) in
    let parts = #filePath.split(separator: "/").dropLast(3)
    return try ConsoleFiles(directory: "/" + parts.joined(separator: "/") + "/Public")
}

private func get(_ path: String, _ fields: [Field] = [], _ method: HTTP.Method = .get) throws
    -> Response?
{
    try files.get().response(for: Request(method, path, fields: fields))
}

private func body(_ response: Response?) -> [UInt8] {
    if case .bytes(let bytes)? = response?.body { return bytes }
    return []
}

@Test func `the root leads to the console`() throws {
    let response = try #require(try get("/"))
    #expect(response.status == 302)
    #expect(response.first("location") == "/console/")
}

@Test(arguments: [
    "/console", "/console/", "/console/t/demo/users", "/console/keys/7/", "/console/t/demo/",
    "/invite", "/reset",
    "/not-me",
])
func `one shell answers every console path and the pages outside`(path: String) throws {
    let response = try #require(try get(path))
    #expect(response.status == 200)
    #expect(response.first("content-type") == "text/html; charset=utf-8")
    #expect(response.first("cache-control") == "no-cache")
    #expect(try body(response) == body(get("/console/")))
}

@Test(arguments: [
    "/console/no/such/page", "/console/nowhere", "/console/t/demo/operators/", "/console//",
    "/console/t/demo/policy/x", "/console/t/demo/invites/x", "/console/t/demo/users/7/8",
])
func `a path without a page is answered so, in the shell's words`(path: String) throws {
    let known = try #require(try get("/console/")).first("etag") ?? ""
    let response = try #require(try get(path, [Field("if-none-match", known)]))
    #expect(response.status == 404)
    #expect(response.first("cache-control") == "no-store")
    #expect(try body(response) == body(get("/console/")))
}

@Test(arguments: [
    ("/invite%23token=abc", "/invite#token=abc"), ("/join#token=abc.", "/join#token=abc."),
    ("/console/sign-in%23token%3Dabc", "/console/sign-in#token%3Dabc"),
    ("/sign-in%23grant=abc", "/sign-in#grant=abc"),
])
func `a one-time link whose fragment sign was encoded leads to its page`(
    path: String, address: String
) throws {
    let response = try #require(try get(path))
    #expect(response.status == 302 && response.first("location") == address)
    #expect(response.first("cache-control") == "no-store")
    #expect(try get("/invite%23<x>") == nil)
}

@Test func `the exact security headers stand on every answer`() throws {
    let version = try files.get().version
    let expected = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src \
        'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; \
        frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """
    for path in [
        "/", "/console/", "/invite", "/reset", "/favicon.svg", "/console/assets/old/app.js",
        "/console/assets/\(version)/app.js",
    ] {
        let response = try #require(try get(path))
        #expect(response.first("content-security-policy") == expected)
        #expect(response.first("x-content-type-options") == "nosniff")
        #expect(response.first("referrer-policy") == "same-origin")
        #expect(response.first("cross-origin-opener-policy") == "same-origin")
        #expect(response.first("cross-origin-resource-policy") == "same-origin")
        #expect(response.first("permissions-policy") != nil)
    }
}

@Test func `the pages name assets by the hash of the tree, and those are kept for ever`() throws {
    let version = try files.get().version
    let html = String(decoding: body(try get("/console/")), as: UTF8.self)
    #expect(!html.utf8.elementsEqual([]))
    #expect(html.contains("/console/assets/\(version)/app.js"))
    #expect(!html.contains("/console/assets/-/"))
    let script = try #require(try get("/console/assets/\(version)/lib/core.js"))
    #expect(script.status == 200)
    #expect(script.first("content-type") == "text/javascript; charset=utf-8")
    #expect(script.first("cache-control") == "public, max-age=31536000, immutable")
}

@Test(arguments: [
    "/console/assets/0000000000000000/app.js", "/console/assets/../../etc/passwd",
    "/console/assets/%2e%2e/app.js", "/console/assets/",
])
func `an asset that is not in the table is a 404, never the shell`(path: String) throws {
    let response = try #require(try get(path))
    #expect(response.status == 404)
}

@Test(arguments: ["/v1/tenants", "/consoles", "/consol", "/invites", "/healthz"])
func `other paths are left to others`(path: String) throws {
    #expect(try get(path) == nil)
}

@Test func `a known ETag is answered 304 without a body, with the headers`() throws {
    let first = try #require(try get("/console/"))
    let tag = try #require(first.first("etag"))
    for value in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
        let response = try #require(try get("/console/", [Field("if-none-match", value)]))
        #expect(response.status == 304)
        #expect(body(response) == [])
        #expect(response.first("etag") == tag)
        #expect(response.first("content-security-policy") != nil)
    }
    let other = try #require(try get("/console/", [Field("if-none-match", "\"x\"")]))
    #expect(other.status == 200)
}

@Test func `each coding is sent to clients that accept it, under an ETag of its own`() throws {
    let plain = try #require(try get("/console/"))
    var tags = [plain.first("etag")]
    for coding in ["br", "gzip"] {
        let packed = try #require(
            try get("/console/", [Field("accept-encoding", coding.uppercased())]))
        #expect(packed.first("content-encoding") == coding)
        #expect(packed.first("vary") == "Accept-Encoding")
        #expect(body(packed).count < body(plain).count)
        #expect(body(packed).starts(with: [0x1F, 0x8B]) == (coding == "gzip"))
        #expect(!tags.contains(packed.first("etag")))
        tags.append(packed.first("etag"))
    }
}

@Test(arguments: [
    ("gzip", "gzip"), ("*", "br"), ("*;q=0, gzip", "gzip"), ("gzip;q=0", ""), ("br", "br"),
    ("gzip, deflate, br, zstd", "br"), ("br;q=0.5, gzip;q=0.8", "gzip"), ("br;q=0, *", "gzip"),
    ("gzip; q=0.000, br;q=0", ""), ("", ""), ("gzip;q=0.001", "gzip"), ("deflate", ""),
])
func `the weights of Accept-Encoding are kept`(value: String, wanted: String) {
    let best = AcceptEncoding.best(of: ContentCoding.allCases, [value])
    #expect(best?.rawValue ?? "" == wanted)
}

@Test func `a long answer goes compressed to our own pages, and as it is to programs`() throws {
    let row = #"{"email":"ada@acme.example"},"#
    let long = Response(
        200, type: "application/json", Array(String(repeating: row, count: 500).utf8))
    let ours = [Field("sec-fetch-site", "same-origin"), Field("accept-encoding", "gzip")]
    let packed = long.compressed(for: Request(.get, "/v1/x", fields: ours))
    #expect(packed.first("content-encoding") == "gzip")
    #expect(packed.first("vary") == "Accept-Encoding")
    #expect(body(packed).starts(with: [0x1F, 0x8B]) && body(packed).count < 1_000)
    let others = [
        Array(ours.prefix(1)), Array(ours.suffix(1)),
        [Field("sec-fetch-site", "cross-site"), ours[1]],
    ]
    for fields in others {
        let plain = long.compressed(for: Request(.get, "/v1/x", fields: fields))
        #expect(plain.first("content-encoding") == nil && body(plain) == body(long))
    }
    let short = Response(200, type: "application/json", Array(row.utf8))
    #expect(body(short.compressed(for: Request(.get, "/v1/x", fields: ours))) == Array(row.utf8))
}

@Test func `a write to the console is a 405`() throws {
    let response = try #require(try get("/console/", [], .post))
    #expect(response.status == 405)
    #expect(response.first("allow") == "GET, HEAD")
}

@Test func `a folder without the shell stops the start with its name`() {
    #expect(throws: ConsoleFilesError.self) { try ConsoleFiles(directory: "/nonexistent") }
}

@Test func `all files together are at most 120 kB as brotli, a page 8 kB, a language 40 kB`() throws
{
    let parts = #filePath.split(separator: "/").dropLast(3)
    let all = try FileTree.read("/" + parts.joined(separator: "/") + "/Public")
    let version = try files.get().version
    let asked = [Field("accept-encoding", "br")]
    var sum = 0
    for file in all where file.path != "index.html" {
        let answer = try #require(try get("/console/assets/\(version)/\(file.path)", asked))
        let size = body(answer).count
        #expect(size > 0 && (!file.path.hasPrefix("pages/") || size <= 8_000), "\(file.path)")
        // A reader is sent one language's file, and English has none.
        if file.path.hasPrefix("lang/") {
            #expect(size <= 40_000, "\(file.path)")
        } else {
            sum += size
        }
    }
    sum += body(try get("/console/", asked)).count
    #expect(sum <= 120_000)
}

@Test func `lines of comment are sent empty, and code without its indentation`() {
    let text =
        "/** A\n * b. */\n\tf() // c\n// d\n/* e */\n/* f */ g()\n\th(`//`) /* i */\n/*\nj */ k()\n"
    #expect(
        String(decoding: CommentLines.removed(from: Array(text.utf8)), as: UTF8.self)
            == "\n\nf() // c\n\n\n/* f */ g()\nh(`//`) /* i */\n\n k()\n")
}

@Test func `no text in backquotes has several lines, which would lose their indentation`() throws {
    let parts = #filePath.split(separator: "/").dropLast(3)
    for file in try FileTree.read("/" + parts.joined(separator: "/") + "/Public")
    where file.path.hasSuffix(".js") {
        let code = String(
            decoding: CommentLines.removed(from: file.bytes), as: UTF8.self)
        for line in code.split(separator: "\n") {
            #expect(line.count(where: { $0 == "`" }).isMultiple(of: 2), "\(file.path): \(line)")
        }
    }
}

@Test func `the shell holds no inline script, no inline style and no other origin`() throws {
    let html = String(decoding: body(try get("/console/")), as: UTF8.self)
    #expect(!html.contains("style="))
    #expect(!html.contains("<style"))
    #expect(!html.contains("<script>"))
    #expect(!html.contains("http"))
}
