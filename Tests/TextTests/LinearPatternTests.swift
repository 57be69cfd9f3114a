import Testing
import Text

@Suite struct LinearPatternTests {
    /// Pattern, what matches, what does not.
    @Test(
        arguments: [
            ("^[a-z]+$", ["a", "abc"], ["", "A", "abc1", "ab c"]),
            ("b", ["b", "abc"], ["", "ac"]),
            ("", ["", "a"], []),
            ("^(ab|cd)*$", ["", "ab", "abcd"], ["a", "abc"]),
            ("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
            ("^a{2}$", ["aa"], ["a", "aaa"]),
            ("^a{2,}b?$", ["aa", "aaaab"], ["a", "ab"]),
            (#"^\d{4}-\d\d$"#, ["2026-11"], ["2026-1", "x2026-11"]),
            (#"^[^\d.]+$"#, ["ab"], ["a1", "a."]),
            (#"^\w\W\s\S$"#, ["a- b"], ["--  "]),
            (#"^[A-Za-z0-9._%+-]+@[a-z.-]+\.[a-z]{2,}$"#, ["a.b@c.de"], ["a@b", "@b.cd"]),
            ("^.$", ["x", "\u{1F600}"], ["", "\n", "xy"]),
            ("^(a*)*$", ["", "aaa"], ["b"]),
            ("^(?:a|)b$", ["b", "ab"], ["a"]),
            ("a$|^b", ["xa", "bx"], ["ax", "xb"]),
            (#"^\^\$\.\/$"#, ["^$./"], ["x"]),
            ("^[a-]$", ["a", "-"], ["b"]),
        ] as [(String, [String], [String])])
    func `a pattern matches what ECMA-262 says`(
        _ text: String, _ good: [String], _ bad: [String]
    ) throws {
        let pattern = try #require(LinearPattern(text))
        for one in good { #expect(pattern.matches(one), "\(text) \(one)") }
        for one in bad { #expect(!pattern.matches(one), "\(text) \(one)") }
    }

    @Test(arguments: [
        "(", ")", "a)", "[", "[b-a]", "*", "a**", "a*?", "a++", #"\1"#, #"(a)\1"#, "(?=a)", "(?!a)",
        "(?<=a)", #"\b"#, #"\u0041"#, #"\p{L}"#, "a{", "a{3,2}", "a{x}", "a{600}", "^*", "a\\",
        #"[\d-z]"#, "(((((((((((((((((a)))))))))))))))))",
        "(a{30}){30}", String(repeating: "a", count: 256),
    ])
    func `a pattern beyond the subset or its limits is refused`(_ text: String) {
        #expect(LinearPattern(text) == nil)
    }

    /// A matcher that goes back needs 2 to the power of the length for these.
    @Test(arguments: ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(a*)*b$", "(x+x+)+y"])
    func `a long text costs no more than its length`(_ text: String) throws {
        let pattern = try #require(LinearPattern(text))
        #expect(!pattern.matches(String(repeating: "a", count: 16_000) + "!"))
        #expect(!pattern.matches(String(repeating: "x", count: 16_000)) || text.hasPrefix("^(a*)*"))
    }
}
