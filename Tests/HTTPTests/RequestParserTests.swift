import TestSupport
import Testing

@testable import HTTP

@Suite struct RequestParserTests {
    /// 0 for a whole head, -1 for an incomplete one, else the status.
    private func outcome(_ bytes: [UInt8], scanned: inout Int) -> Int {
        let parser = RequestParser()
        return bytes.withUnsafeBytes {
            switch parser.parse($0, scanned: &scanned) {
            case .incomplete: -1
            case .head(let head): head.length == $0.count ? 0 : -2
            case .refused(_, let error), .failed(let error): error.status
            }
        }
    }

    @Test(arguments: requestCorpus)
    func `a request is accepted or refused as the corpus says`(_ each: RequestCase) {
        var scanned = 0
        #expect(outcome(Array(each.text.utf8), scanned: &scanned) == each.status)
    }

    @Test(arguments: requestCorpus)
    func `arriving in two pieces or byte by byte changes nothing`(_ each: RequestCase) {
        let bytes = Array(each.text.utf8)
        guard bytes.count < 1000 else { return }
        for split in 1..<bytes.count {
            var scanned = 0
            let early = outcome(Array(bytes[..<split]), scanned: &scanned)
            let late = early == -1 ? outcome(bytes, scanned: &scanned) : early
            #expect(late == each.status, "split at \(split)")
        }
        var scanned = 0
        var last = -1
        for end in 1...bytes.count where last == -1 {
            last = outcome(Array(bytes[..<end]), scanned: &scanned)
        }
        #expect(last == each.status)
    }

    private func parsed(_ bytes: [UInt8]) -> Request? {
        bytes.withUnsafeBytes { buffer in
            var scanned = 0
            let parser = RequestParser()
            guard case .head(let head) = parser.parse(buffer, scanned: &scanned) else { return nil }
            return head.request(remoteAddress: "", isTLS: false, id: "")
        }
    }

    @Test func `bytes that are no UTF-8 are opaque in a value, and no two values become one`() {
        let head = Array("GET / HTTP/1.1\r\nHost: a\r\nA: ".utf8)
        let values: [[UInt8]] = [[0xE9], [0xE8], [0xFF, 0xFE], Array("é".utf8) + [0xE9]]
        let texts = values.map { parsed(head + $0 + Array("\r\n\r\n".utf8))?.first("a") }
        #expect(texts[0] == "\u{E9}")
        #expect(texts.allSatisfy { $0 != nil } && Set(texts).count == values.count)
        #expect(parsed(head + Array("é\r\n\r\n".utf8))?.first("a") == "é")
    }

    @Test(arguments: [
        ("http://b.example/c?d", "b.example", "/c", "d"), ("HTTP://b:8080/", "b:8080", "/", ""),
        ("https://b", "b", "/", ""), ("http://b?d", "b", "/", "d"),
        ("http://[::1]:80/x", "[::1]:80", "/x", ""),
    ])
    func `an absolute target is read, and its authority counts as the host`(
        target: String, host: String, path: String, query: String
    ) {
        let request = parsed(Array("GET \(target) HTTP/1.1\r\nA: b\r\nHost: other\r\n\r\n".utf8))
        #expect(request?.all("host") == [host])
        #expect(request?.path == path && request?.query == query)
    }

    @Test func `a long line is refused before its end is seen`() {
        var scanned = 0
        #expect(outcome(Array(repeating: 0x41, count: 8195), scanned: &scanned) == 414)
        let head = Array("GET / HTTP/1.1\r\nA: ".utf8) + Array(repeating: 0x41, count: 33_000)
        scanned = 0
        #expect(outcome(head, scanned: &scanned) == 431)
    }

    @Test func `a copied request has lower-case names and a split target`() {
        let text = "POST /a%20b?c=d?e HTTP/1.1\r\nHost: x\r\nX-Two:  v \r\nx-two: w\r\n\r\nrest"
        Array(text.utf8).withUnsafeBytes {
            var scanned = 0
            let parser = RequestParser()
            guard case .head(let head) = parser.parse($0, scanned: &scanned) else {
                Issue.record("not parsed")
                return
            }
            #expect(head.length == $0.count - 4)
            #expect(head.pathIs("/a%20b"))
            #expect(head.first("x-two").map { String(decoding: $0, as: UTF8.self) } == "v")
            #expect(head.count("x-two") == 2)
            #expect(head.first("x-tw") == nil)
            let request = head.request(remoteAddress: "::1", isTLS: true, id: "i")
            #expect(request.path == "/a%20b" && request.query == "c=d?e")
            #expect(request.all("x-two") == ["v", "w"])
            #expect(request.method == .post)
        }
    }

    @Test func `the Kelvin sign is no letter of a field name`() {
        let name = Array("host\u{212A}".utf8)
        name.withUnsafeBufferPointer {
            #expect(!matches($0.baseAddress!, $0.count, "hostk"))
        }
    }

    @Test(arguments: [
        ("HTTP/1.1", "A: b", true), ("HTTP/1.1", "Connection: close", false),
        ("HTTP/1.1", "Connection: a , CLOSE", false), ("HTTP/1.1", "Connection: closed", true),
        ("HTTP/1.0", "Connection: keep-alive", false),
    ])
    func `a connection is kept only by HTTP 1.1 without close`(
        _ version: String, _ line: String, _ kept: Bool
    ) {
        Array("GET / \(version)\r\nHost: x\r\n\(line)\r\n\r\n".utf8).withUnsafeBytes {
            var scanned = 0
            let parser = RequestParser()
            if case .head(let head) = parser.parse($0, scanned: &scanned) {
                #expect(head.keepAlive == kept)
            } else {
                Issue.record("not parsed")
            }
        }
    }
}
