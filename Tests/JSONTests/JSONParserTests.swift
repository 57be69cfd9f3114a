import JSON
import Testing

@Suite struct JSONParserTests {
    @Test(
        arguments: [
            "null", "true", "false", "0", "-0", "1", "-1", "10", "1.5", "-1.5e3", "1E+2", "1e-2",
            "0.0", "0e1", "\"\"", "\"a\"", "\"\\\"\"", "\"\\\\\"", "\"\\/\"", "\"\\b\\f\\n\\r\\t\"",
            "\"\\u0041\"", "\"\\u00e9\"", "\"\\ud83d\\ude00\"", "\"\u{e9}\"", "\"\u{1F600}\"",
            "\"\u{7F}\"", "\"\u{2028}\"", "[]", "[ ]", "[1]", "[1,2]", "[[],{}]", "{}", "{ }",
            "{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"a\":{\"a\":1}}", " \t\r\n1 \t\r\n",
            "{\"\":0}", "[1 , 2]", "{ \"a\" : 1 }", "{\"e\u{301}\":1,\"\u{e9}\":2}",
            "123456789012345678901234567890", "{\"A\":1,\"a\":2}",
        ])
    func `a document of the grammar is accepted`(text: String) throws {
        let value = try JSONValue(parsing: Array(text.utf8))
        #expect(try JSONValue(parsing: value.encoded()) == value)
    }

    @Test(
        arguments: [
            "", " ", "nul", "nulll", "True", "tru", "01", "-", "-01", "+1", ".5", "1.", "1.e3",
            "1e", "1e+", "0x10", "NaN", "Infinity", "\"", "\"a", "'a'", "\"\\", "\"\\x\"",
            "\"\\u12\"", "\"\\u12G4\"", "\"\\u0000\"", "\"a\\u0000b\"", "\"\\ud83d\"",
            "\"\\ud83dx\"", "\"\\ud83d\\u0041\"", "\"\\ude00\"", "\"\\ud83d\\ud83d\"",
            "\"a\nb\"", "\"a\tb\"", "\"\u{0}\"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "]",
            "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{1:1}",
            "{\"a\" 1}", "{,}", "{\"a\":1 \"b\":2}", "{\"a\":1,\"a\":1}",
            "{\"a\":1,\"\\u0061\":2}", "1 2", "{}{}", "null,", "/* */1", "1//", "\u{FEFF}1",
            "\u{A0}1", "\u{0C}1", "{\"\\u0000\":1}",
        ])
    func `a text outside the grammar is refused`(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0xAF], [0xC3], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80],
            [0xC3, 0x5C, 0x75, 0x30, 0x30, 0x41, 0x39],
        ] as [[UInt8]])
    func `invalid UTF-8 in a string is refused`(inner: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22] + inner + [0x22]) }
    }

    @Test func `sixty-four levels are read and sixty-five are refused`() throws {
        func nested(_ count: Int) -> [UInt8] {
            [UInt8](repeating: 0x5B, count: count) + [UInt8](repeating: 0x5D, count: count)
        }
        _ = try JSONValue(parsing: nested(64))
        #expect(throws: JSONError(offset: 64, reason: "nested too deeply")) {
            try JSONValue(parsing: nested(65))
        }
        #expect(throws: JSONError.self) {
            try JSONValue(parsing: [UInt8](repeating: 0x5B, count: 100_000))
        }
    }

    @Test func `a duplicate among many members is refused at its name`() {
        let many = (0..<40).map { "\"m\($0)\":0" }.joined(separator: ",")
        let text = "{\(many),\"m3\":1}"
        let offset = text.utf8.count - 7
        #expect(throws: JSONError(offset: offset, reason: "duplicate member name")) {
            try JSONValue(parsing: Array(text.utf8))
        }
    }

    @Test func `too many values and too long a number are refused`() {
        #expect(throws: JSONError.self) {
            try JSONValue(parsing: Array("[1,2,3]".utf8), limits: JSONLimits(values: 3))
        }
        #expect(throws: JSONError.self) {
            try JSONValue(parsing: [UInt8](repeating: 0x31, count: 65))
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-7", -7), ("9223372036854775807", Int.max), ("-0", nil), ("1.0", nil),
            ("1e3", nil), ("9223372036854775808", nil), ("\"1\"", nil), ("true", nil),
        ] as [(String, Int?)])
    func `only a number written as an integer is an integer`(text: String, expected: Int?) throws {
        #expect(try JSONValue(parsing: Array(text.utf8)).int == expected)
    }

    @Test func `composed and decomposed letters are different values and names`() throws {
        let value = try JSONValue(parsing: Array("{\"e\u{301}\":1,\"\u{e9}\":2}".utf8))
        #expect(value["\u{e9}"]?.int == 2)
        #expect(value["e\u{301}"]?.int == 1)
        #expect(JSONValue.string("e\u{301}") != JSONValue.string("\u{e9}"))
    }

    @Test func `numbers and the order of members come back as they came`() throws {
        let text = "{\"z\":1.50,\"a\":[1E+2,-0],\"u\":\"\u{e9}\\\"\\\\\"}"
        let value = try JSONValue(parsing: Array(text.utf8))
        #expect(String(decoding: value.encoded(), as: UTF8.self) == text)
    }
}
