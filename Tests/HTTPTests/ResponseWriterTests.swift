import Testing

@testable import HTTP

@Suite struct ResponseWriterTests {
    private func written(
        _ response: Response, isHead: Bool = false, isHTTP10: Bool = false, closes: Bool = false
    ) -> (text: String, streams: Bool) {
        let writer = ResponseWriter()
        writer.prepare(isHead: isHead, isHTTP10: isHTTP10, closes: closes, now: 0)
        let streams = writer.write(response)
        return (String(decoding: writer.out.bytes, as: UTF8.self), streams)
    }

    private func withoutDate(_ text: String) -> String {
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        return lines.filter { !$0.hasPrefix("date: ") }.joined(separator: "|")
    }

    @Test func `an answer is its line, its fields, its length and its body`() {
        let text = written(Response(200, type: "text/plain", Array("hello".utf8))).text
        #expect(
            withoutDate(text)
                == "HTTP/1.1 200 OK|content-type: text/plain|content-length: 5||hello")
    }

    @Test func `HEAD gets the length and no body`() {
        let text = written(Response(200, type: "a/b", [1, 2, 3]), isHead: true).text
        #expect(withoutDate(text) == "HTTP/1.1 200 OK|content-type: a/b|content-length: 3||")
    }

    @Test(arguments: [204, 304]) func `some statuses have neither length nor body`(_ status: Int) {
        let text = written(Response(status, body: .bytes([1]))).text
        #expect(!text.utf8.contains(1))
        #expect(!withoutDate(text).contains("content-length"))
    }

    @Test(arguments: ["a\r\nb: c", "a\nb", "a\rb", "a\u{0}"])
    func `a value that would split the answer makes it a 500`(_ value: String) {
        let text = written(Response(200, fields: [Field("x-a", value)], body: .bytes([65]))).text
        #expect(withoutDate(text) == "HTTP/1.1 500 Internal Server Error|content-length: 0||")
    }

    @Test func `a bad field name makes it a 500`() {
        let text = written(Response(200, fields: [Field("x a", "b")])).text
        #expect(text.hasPrefix("HTTP/1.1 500 "))
    }

    @Test func `framing fields of a handler are dropped`() {
        let fields = [
            Field("content-length", "9"), Field("connection", "x"), Field("date", "now"),
            Field("transfer-encoding", "gzip"),
        ]
        let text = written(Response(200, fields: fields), closes: true).text
        #expect(withoutDate(text) == "HTTP/1.1 200 OK|content-length: 0|connection: close||")
    }

    @Test func `a stream is chunked, and bare for HTTP 1.0`() {
        let stream = Response(200, body: .stream { nil })
        let chunked = written(stream)
        #expect(chunked.streams && chunked.text.contains("transfer-encoding: chunked"))
        let bare = written(stream, isHTTP10: true, closes: true)
        #expect(bare.streams && !bare.text.contains("chunked"))
        #expect(!written(stream, isHead: true).streams)
        let writer = ResponseWriter()
        writer.chunk(Array(repeating: 65, count: 26), isHTTP10: false)
        writer.chunk([], isHTTP10: false)
        writer.endChunks(isHTTP10: false)
        let text = String(decoding: writer.out.bytes, as: UTF8.self)
        #expect(text == "1a\r\n\(String(repeating: "A", count: 26))\r\n0\r\n\r\n")
    }

    @Test func `dates are in the fixed form`() {
        let text = String(decoding: HTTPDate.format(784_111_777), as: UTF8.self)
        #expect(text == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func `a phrase is given for a status`() {
        #expect(reasonPhrase(431) == "Request Header Fields Too Large")
        #expect(reasonPhrase(599) == "Status 599")
    }
}
