import Testing
import Text

/// What names, addresses and ids may hold that nobody sees.
@Suite struct DisplayTextTests {
    @Test(arguments: [
        "Ann", "Zoë", "李雷", "علی\u{200C}رضا", "क्\u{200D}ष", "\u{1F469}\u{200D}\u{1F4BB} Ann",
        "❤\u{FE0F}",
        "葛\u{E0100}城", "O'Neil-Smith", "\u{1F469}\u{1F3FD}\u{200D}\u{1F52C}", "e\u{301}",
    ])
    func `a name may contain joiners that shape its letters`(_ name: String) {
        #expect(DisplayText.isName(name) && sameBytes(DisplayText.named(name), name))
    }

    @Test(arguments: [
        "a\u{200B}b", "a\nb", "a\tb", "a\u{202E}b", "a\u{2066}b", "a\u{FEFF}b", "a\u{61C}b",
        "a\u{E0041}",
        "\u{3164}", "\u{34F}", "a\u{34F}b", "\u{2800}", "a\u{2060}b", "a \u{200D} b", "1\u{200C}2",
        "a\u{FE0F}b", "\u{115F}", "a\u{180E}b", "\u{1B}[31m", "a\u{2028}b",
    ])
    func `a name has nothing else that nobody sees`(_ name: String) {
        #expect(!DisplayText.isName(name))
        let shown = DisplayText.shown(name)
        #expect(DisplayText.isName(shown), "\(shown.debugDescription)")
    }

    @Test func `the ends of a text have nothing invisible, and soft hyphens are dropped`() {
        let around = "\u{A0}\u{200B}\u{FEFF}\u{3000}\t\r\n \u{2060}\u{200D}\u{AD}"
        #expect(sameBytes(DisplayText.stripped(around + "a b" + around), "a b"))
        #expect(DisplayText.stripped(around).isEmpty && DisplayText.named(around).isEmpty)
        #expect(DisplayText.named("Donau\u{AD}dampf") == "Donaudampf")
        // A Character would hold the letter and the mark behind it.
        #expect(sameBytes(DisplayText.stripped("a\u{200D}"), "a"))
        #expect(sameBytes(DisplayText.stripped("❤\u{FE0F}"), "❤\u{FE0F}"))
    }

    @Test(arguments: [
        ("ann@ac\u{200B}me.example", "U+200B"), ("ann@acme\u{AD}.example", "U+00AD"),
        ("a\u{2060}nn@acme.example", "U+2060"), ("ann@acme.example\u{FE0F}", "U+FE0F"),
        ("ann@ac\u{A0}me.example", "U+00A0"), ("ann\u{3164}@acme.example", "U+3164"),
    ])
    func `a hidden character in an address is named`(_ text: String, _ name: String) {
        #expect {
            try EmailAddress(text)
        } throws: { ($0 as? EmailFault)?.mend.contains(name) == true }
    }

    @Test(arguments: ["\u{A0}", "\u{200B}", "\u{FEFF}", " ", "\n", "\u{3000}"])
    func `around an address they are none of it`(_ space: String) throws {
        let address = try EmailAddress(space + "ann@acme.example" + space)
        #expect(sameBytes(address.original, "ann@acme.example"))
    }

    @Test(arguments: ["ac\u{200B}me.example", "acme\u{AD}.example", "a\u{FE0F}.example"])
    func `a hidden character in a host is refused`(_ text: String) {
        #expect {
            try DomainName(text)
        } throws: { error in
            if case .hidden? = error as? DomainFault { true } else { false }
        }
    }
}
