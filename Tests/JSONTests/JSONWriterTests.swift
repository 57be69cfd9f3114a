import JSON
import Testing

@Suite struct JSONWriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `commas are placed between members and elements alone`() {
        let text = written { json in
            json.beginObject()
            json.name("a")
            json.int(-12)
            json.name("b")
            json.beginArray()
            json.bool(true)
            json.null()
            json.beginObject()
            json.endObject()
            json.number("1.50")
            json.endArray()
            json.name("c" + "\"")
            json.raw(Array("[0]".utf8))
            json.endObject()
        }
        #expect(text == "{\"a\":-12,\"b\":[true,null,{},1.50],\"c\\\"\":[0]}")
    }

    @Test func `an answer's own memory is written into, and left where it is too small`() {
        for count in [0, 1, 20, 21, 22, 200] {
            let text = String(repeating: "x\"", count: count)
            let bytes = JSONWriter.bytes(reserving: 64) { $0.string(text) }
            #expect(String(decoding: bytes, as: UTF8.self) == written { $0.string(text) })
        }
    }

    @Test func `quotes, backslashes and controls are escaped and all else is as it was`() {
        let text = written { $0.string("\"\\\n\r\t\u{8}\u{C}\u{1}\u{1F}\u{7F}é😀") }
        #expect(text == "\"\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u001f\u{7F}é😀\"")
    }

    /// The search for them takes eight bytes at a time.
    @Test func `an escape is found wherever it stands`() {
        for length in 1...20 {
            for place in 0..<length {
                for (byte, escape) in [("\"", "\\\""), ("\\", "\\\\"), ("\u{1f}", "\\u001f")] {
                    var parts = [String](repeating: "é", count: length)
                    parts[place] = byte
                    let text = parts.joined()
                    parts[place] = escape
                    #expect(written { $0.string(text) } == "\"" + parts.joined() + "\"")
                }
            }
        }
    }

    @Test func `a text longer than the first buffer is written whole`() {
        let long = String(repeating: "ab\n", count: 5000)
        let text = written { json in
            json.beginArray()
            for _ in 0..<3 { json.string(long) }
            json.endArray()
        }
        let one = "\"" + String(repeating: "ab\\n", count: 5000) + "\""
        #expect(text == "[\(one),\(one),\(one)]")
    }

    @Test func `the extremes of integers are written whole`() {
        #expect(written { $0.int(Int.min) } == "-9223372036854775808")
        #expect(written { $0.int(Int.max) } == "9223372036854775807")
        #expect(written { $0.int(0) } == "0")
    }

    @Test func `ascii bytes are quoted without escaping`() {
        let text = written { json in
            json.ascii(4) { _ = $0.initialize(from: "2026".utf8) }
        }
        #expect(text == "\"2026\"")
    }
}
