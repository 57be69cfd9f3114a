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

    @Test func `quotes, backslashes and controls are escaped and all else is as it was`() {
        let text = written { $0.string("\"\\\n\r\t\u{8}\u{C}\u{1}\u{1F}\u{7F}é😀") }
        #expect(text == "\"\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u001f\u{7F}é😀\"")
    }

    @Test func `the extremes of integers are written whole`() {
        #expect(written { $0.int(Int.min) } == "-9223372036854775808")
        #expect(written { $0.int(Int.max) } == "9223372036854775807")
        #expect(written { $0.int(0) } == "0")
    }

    @Test func `ascii bytes are quoted without escaping`() {
        let text = written { json in
            Array("2026".utf8).withUnsafeBufferPointer { json.ascii($0) }
        }
        #expect(text == "\"2026\"")
    }
}
