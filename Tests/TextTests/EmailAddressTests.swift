import Testing
import Text

@Suite struct EmailAddressTests {
    private func key(_ text: String) throws(EmailFault) -> String { try EmailAddress(text).key }

    @Test func `E1 case and outer spaces do not make a second key`() throws {
        #expect(try key("Ann@Ex.COM") == "ann@ex.com")
        #expect(try key("  ann@ex.com ") == "ann@ex.com")
        #expect(try EmailAddress(" Ann@Ex.COM ").original == "Ann@Ex.COM")
        #expect(try EmailAddress("Ann@Ex.COM") == EmailAddress("ann@ex.com"))
    }

    @Test func `E1 a Kelvin sign or a dotless i is no ASCII letter`() {
        #expect(throws: EmailFault.badLocalPart) { try key("\u{212A}im@ex.com") }
        #expect(throws: EmailFault.badLocalPart) { try key("\u{131}da@ex.com") }
    }

    @Test func `E2 tags and dots are left as they are`() throws {
        #expect(try key("ann+x@ex.com") == "ann+x@ex.com")
        #expect(try key("a.n.n@gmail.com") == "a.n.n@gmail.com")
        #expect(try EmailAddress("ann+x@ex.com") != EmailAddress("ann@ex.com"))
    }

    @Test(
        arguments: [
            "\"ann\"@ex.com", "\"a@good.com\"@evil.com", "a@b@ex.com", "a\u{0}b@ex.com",
            "a\nb@ex.com", "ann@[1.2.3.4]", "ann@1.2.3.4",
            ".ann@ex.com", "ann.@ex.com", "a..n@ex.com", "@ex.com", "ann@", "ann", "", " ", "@",
            "ann@.ex.com", "ann@ex..com", "ann@-ex.com", "ann@ex-.com", "ann@ex_y.com",
            "ann @ex.com", "ann@ ex.com", "a(b)@ex.com", "a<b>@ex.com", "a,b@ex.com",
            "ann@ex.com\u{0}.evil.com", "ann@ex.com/x", "ann@ex.com:25", "a@\u{301}b.com",
            "ann@ex.com..", "ann@good.com\u{FF0F}evil.com", "ann@ex\u{2100}.com",
            "ann@ex\u{FF20}y.com",
            "ann@b\u{fc}_c.example", "ann@ex\u{A0}y.com",
        ])
    func `E3 what parsers read in two ways is refused`(text: String) {
        #expect(throws: EmailFault.self) { try key(text) }
    }

    @Test func `E3 lengths are held at 254 and 64 bytes`() throws {
        let local = String(repeating: "a", count: 64)
        #expect(try key(local + "@ex.com").utf8.count == 71)
        #expect(throws: EmailFault.tooLong) { try key(local + "a@ex.com") }
        let label = String(repeating: "b", count: 60) + "."
        let domain = String(repeating: label, count: 3)
        #expect(try key("a@" + domain + "com").utf8.count == 188)
        #expect(throws: EmailFault.tooLong) { try key(local + "@" + domain + label + "com") }
    }

    @Test func `E3 a single label passes only by the switch`() throws {
        #expect(throws: EmailFault.singleLabelDomain) { try key("admin@local") }
        #expect(try EmailAddress("admin@local", allowSingleLabel: true).key == "admin@local")
    }

    @Test func `E4 a local part beyond ASCII is refused`() {
        #expect(throws: EmailFault.badLocalPart) { try key("\u{e4}nn@ex.com") }
        #expect(throws: EmailFault.badLocalPart) { try key("a\u{301}@ex.com") }
    }

    @Test func `E5 an international domain has one key in both spellings`() throws {
        #expect(try key("ann@b\u{fc}cher.example") == "ann@xn--bcher-kva.example")
        #expect(try key("ann@bu\u{308}cher.example") == "ann@xn--bcher-kva.example")
        #expect(try key("ann@XN--BCHER-KVA.example") == "ann@xn--bcher-kva.example")
        #expect(try EmailAddress("a@xn--bcher-kva.example").domain.display == "b\u{fc}cher.example")
    }

    @Test func `E5 the sharp s is kept as non-transitional processing has it`() throws {
        #expect(try key("a@fa\u{df}.example") == "a@xn--fa-hia.example")
    }

    @Test func `E6 a homograph is another domain`() throws {
        #expect(try key("ann@\u{435}x.com") != "ann@ex.com")
        #expect(try key("ann@\u{435}x.com").hasPrefix("ann@xn--"))
    }

    @Test func `E7 a trailing dot, upper case and full-width forms are mapped`() throws {
        #expect(try key("ann@ex.com.") == "ann@ex.com")
        #expect(try key("ann@EX.COM") == "ann@ex.com")
        #expect(try key("ann@ex\u{FF0E}com") == "ann@ex.com")
        #expect(try key("ann@ex.com\u{3002}") == "ann@ex.com")
        #expect(throws: EmailFault.self) { try key("ann@ex.com\u{3002}\u{3002}") }
    }
}
