import Testing

@testable import HTTP

@Suite struct ChunkedDecoderTests {
    private func decode(
        _ pieces: [[UInt8]], limit: Int = 100
    ) -> (ChunkedDecoder.Outcome, body: String, unread: Int) {
        var decoder = ChunkedDecoder(limit: limit)
        var body: [UInt8] = []
        for piece in pieces {
            var consumed = 0
            let outcome = piece.withUnsafeBufferPointer {
                decoder.decode($0, into: &body, consumed: &consumed)
            }
            if outcome != .incomplete {
                return (outcome, String(decoding: body, as: UTF8.self), piece.count - consumed)
            }
        }
        return (.incomplete, String(decoding: body, as: UTF8.self), 0)
    }

    @Test(arguments: [
        "3\r\nabc\r\n0\r\n\r\n", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "003\r\nabc\r\n00\r\n\r\n",
        "3;x\r\nabc\r\n0;y=z\r\n\r\n", "3;x=1;y=2\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0\r\nA: b\r\nC:\r\n\r\n",
    ])
    func `a body is the same in one piece and in any two`(_ text: String) {
        let bytes = Array(text.utf8)
        for split in 0...bytes.count {
            let (outcome, body, unread) = decode([Array(bytes[..<split]), Array(bytes[split...])])
            #expect(outcome == .complete && body == "abc" && unread == 0)
        }
        #expect(decode(bytes.map { [$0] }).0 == .complete)
    }

    @Test(arguments: [
        "", "3", "3\r\nab", "3\r\nabc\r\n0\r\n", "0\r\nA: b\r\n",
    ])
    func `an unfinished body waits`(_ text: String) {
        #expect(decode([Array(text.utf8)]).0 == .incomplete)
    }

    @Test(arguments: [
        (400, "\r\n"), (400, "g\r\n"), (400, "+3\r\nabc"), (400, "-1\r\n"), (400, " 3\r\nabc"),
        (400, "3 \r\nabc"), (400, "0x3\r\nabc"), (400, "3\nabc\n"), (400, "3\r\nabcd\r\n"),
        (400, "3\r\nabc\n0\r\n\r\n"), (400, "3;\r\nabc"), (400, "3; x\r\nabc"),
        (400, "3;x=\r\nabc"), (400, "3;x=\"y\"\r\nabc"), (400, "3;x\n"), (400, "000000003\r\nabc"),
        (413, "65\r\n"), (413, "ffffffff\r\n"), (400, "0\r\n A: b\r\n\r\n"),
        (400, "0\r\nA : b\r\n\r\n"), (400, "0\r\nA\r\n\r\n"), (400, "0\r\nA: b\n\r\n"),
        (400, "0\r\n\n"), (400, "3\rx"),
    ])
    func `a malformed body is refused`(_ status: Int, _ text: String) {
        guard case .failed(let error) = decode([Array(text.utf8)]).0 else {
            Issue.record("accepted \(text.debugDescription)")
            return
        }
        #expect(error.status == status)
    }

    @Test func `trailers and extensions are limited`() {
        let trailers = "0\r\n" + String(repeating: "A: b\r\n", count: 2000)
        #expect(
            decode([Array(trailers.utf8)]).0
                == .failed(HTTPError(431, "The trailer section is too long.")))
        let long = "3;" + String(repeating: "a", count: 300)
        #expect(decode([Array(long.utf8)]).0 == .failed(ChunkedDecoder.malformed))
    }

    @Test func `bytes after the body are not read`() {
        let (outcome, body, unread) = decode([Array("1\r\na\r\n0\r\n\r\nGET /".utf8)])
        #expect(outcome == .complete && body == "a" && unread == 5)
    }
}
