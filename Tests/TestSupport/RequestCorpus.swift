/// One request and what the parser must make of it: 0 if it is accepted, or else the status.
package struct RequestCase: Sendable, CustomStringConvertible {
    package var text: String
    package var status: Int

    init(_ status: Int, _ text: String) {
        self.text = text
        self.status = status
    }

    package var description: String { "\(status) \(text.prefix(90).debugDescription)" }
}

private func line(_ status: Int, _ line: String) -> RequestCase {
    RequestCase(status, line + "\r\nHost: a\r\n\r\n")
}

private func field(_ status: Int, _ lines: String) -> RequestCase {
    RequestCase(status, "POST / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n\r\n")
}

private func host(_ status: Int, _ value: String) -> RequestCase {
    RequestCase(status, "GET / HTTP/1.1\r\nHost: \(value)\r\n\r\n")
}

private func repeated(_ text: String, _ count: Int) -> String {
    String(repeating: text, count: count)
}

package let requestCorpus: [RequestCase] = requestLines + fieldLines + hosts

private let requestLines: [RequestCase] = [
    line(0, "GET / HTTP/1.1"), line(0, "HEAD /a HTTP/1.1"), line(0, "POST /a?b=c HTTP/1.1"),
    line(0, "PUT /%41 HTTP/1.1"), line(0, "PATCH /?% HTTP/1.1".replacingPercent()),
    line(0, "DELETE //a HTTP/1.1"), line(0, "OPTIONS * HTTP/1.1"), line(0, "OPTIONS /a HTTP/1.1"),
    line(0, "GET / HTTP/1.0"), RequestCase(0, "GET / HTTP/1.0\r\n\r\n"),
    RequestCase(0, "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    line(0, "GET /\(repeated("a", 8192 - 14)) HTTP/1.1"),
    line(400, "GET * HTTP/1.1"), line(400, "GET a HTTP/1.1"), line(400, "GET  / HTTP/1.1"),
    line(400, "GET /  HTTP/1.1"), line(400, "GET / HTTP/1.1 "), line(400, " GET / HTTP/1.1"),
    line(400, "GET\t/ HTTP/1.1"), line(400, "GET / http/1.1"), line(400, "GET / HTTP/1"),
    line(400, "GET / HTTP/11"), line(400, "GET / HTTP/1.10"), line(400, "GET / HTTP/ 1.1"),
    line(400, "GET / HTT"), line(400, "GET /"), line(400, "GET"), line(400, "GET / HTTPS/1.1"),
    line(0, "GET http://a/ HTTP/1.1"), line(0, "GET HTTPS://a:443?q HTTP/1.1"),
    line(0, "OPTIONS http://a HTTP/1.1"), line(400, "GET http:// HTTP/1.1"),
    line(400, "GET http://u@a/ HTTP/1.1"), line(400, "GET http:///b HTTP/1.1"),
    line(400, "GET ftp://a/ HTTP/1.1"), line(400, "GET http://a/%zz HTTP/1.1"),
    line(400, "GET /a#b HTTP/1.1"),
    line(400, "GET /% HTTP/1.1"), line(400, "GET /%4 HTTP/1.1"), line(400, "GET /%zz HTTP/1.1"),
    line(400, "GET /a\u{0}b HTTP/1.1"), line(400, "GET /é HTTP/1.1"),
    line(400, "GET /a\u{7F} HTTP/1.1"), line(400, "G@T / HTTP/1.1"), line(400, "GET /\rx HTTP/1.1"),
    RequestCase(400, "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    RequestCase(400, "\rGET / HTTP/1.1\r\n\r\n"),
    RequestCase(400, "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    RequestCase(400, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
    RequestCase(400, "GET / HTTP/1.1\r\nHost: a\n\n"),
    line(501, "get / HTTP/1.1"), line(501, "PROPFIND / HTTP/1.1"), line(501, "GETT / HTTP/1.1"),
    line(501, "TRACE / HTTP/1.1"), line(501, "CONNECT a:443 HTTP/1.1"),
    line(505, "GET / HTTP/1.2"), line(505, "GET / HTTP/2.0"), line(505, "PRI * HTTP/2.0"),
    line(505, "GET / HTTP/0.9"),
    line(414, "GET /\(repeated("a", 8192 - 13)) HTTP/1.1"),
    line(414, "GET /\(repeated("a", 9000)) HTTP/1.1"),
]

private let fieldLines: [RequestCase] = [
    field(0, "A: b"), field(0, "A:b"), field(0, "A:\t b \t"), field(0, "A:"), field(0, "A: é"),
    field(0, "Content-Length: 0"), field(0, "content-LENGTH: 10"),
    field(0, "Transfer-Encoding: chunked"), field(0, "Transfer-Encoding: CHUNKED"),
    field(0, "Expect: 100-continue"), field(0, "Connection: close, x"),
    field(0, repeated("A: b\r\n", 98) + "A: b"), field(0, "Content-Length: 1048576"),
    field(400, "A : b"), field(400, " A: b"), field(400, "A: b\r\n c"), field(400, "A: b\r\n\tc"),
    field(400, ": b"), field(400, "A"), field(400, "A: b\u{0}"), field(400, "A: b\u{1}"),
    field(400, "A: b\u{7F}"), field(400, "A: b\rc"), field(400, "A: b\nC: d"),
    field(400, "A(: b"), field(400, "É: b"),
    field(400, "Content-Length: +5"), field(400, "Content-Length: -0"),
    field(400, "Content-Length: 1 0"), field(400, "Content-Length: 5, 5"),
    field(400, "Content-Length: 05"), field(400, "Content-Length:"),
    field(400, "Content-Length: 0x5"), field(400, "Content-Length: ٥"),
    field(400, "Content-Length: 5\r\nContent-Length: 5"),
    field(400, "Content-Length: 5\r\nContent-Length: 6"),
    field(400, "Content-Length: 5\r\nTransfer-Encoding: chunked"),
    field(400, "Transfer-Encoding: chunked\r\nContent-Length: 5"),
    field(400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
    field(400, "Transfer-Encoding:"),
    RequestCase(400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    field(501, "Transfer-Encoding: gzip, chunked"), field(400, "Transfer-Encoding: chunked, gzip"),
    field(400, "Transfer-Encoding: xchunked"), field(400, "Transfer-Encoding: \"chunked\""),
    field(400, "Transfer-Encoding: identity"), field(400, "Transfer-Encoding: chunked,"),
    field(501, "Transfer-Encoding: chunked;a=b"),
    field(400, "Transfer-Encoding: \u{B}chunked"),
    field(413, "Content-Length: 1048577"), field(413, "Content-Length: 99999999999999999999999"),
    field(417, "Expect: 200-ok"),
    field(431, repeated("A: b\r\n", 99) + "A: b"),
    field(431, "A: " + repeated("b", 33_000)),
    field(431, repeated("A: " + repeated("b", 1000) + "\r\n", 40) + "A: b"),
]

private let hosts: [RequestCase] = [
    RequestCase(400, "GET / HTTP/1.1\r\n\r\n"),
    RequestCase(400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
    RequestCase(400, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
    host(0, "a.example"), host(0, "a.example:8080"), host(0, "[::1]"), host(0, "[::1]:80"),
    host(0, "127.0.0.1:1"), host(400, ""), host(400, "a b"), host(400, "a,b"), host(400, "a/b"),
    host(400, "u@a"), host(400, "a:"), host(400, "a:x"), host(400, "a:65536"), host(400, "[::1"),
    host(400, "[]"), host(400, "a:+80"), host(400, "[::1]x"), host(400, "ä"),
]

extension String {
    /// A bare `%` in the query is as malformed as in the path; `%25` is well formed.
    fileprivate func replacingPercent() -> String {
        String(decoding: utf8.flatMap { $0 == 0x25 ? Array("%25".utf8) : [$0] }, as: UTF8.self)
    }
}
