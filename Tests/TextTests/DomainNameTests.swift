import Testing
import Text

@Suite struct DomainNameTests {
    @Test func `public suffixes are known and so is what was registered below them`() throws {
        #expect(try DomainName("co.uk").isPublicSuffix)
        #expect(try DomainName("github.io").isPublicSuffix)
        #expect(try !DomainName("ex.co.uk").isPublicSuffix)
        #expect(try DomainName("a.b.ex.co.uk").registrable?.ascii == "ex.co.uk")
        #expect(try DomainName("co.uk").registrable == nil)
    }

    @Test func `subdomains are matched by whole labels`() throws {
        let base = try DomainName("ex.com")
        #expect(try DomainName("eu.ex.com").isSubdomain(of: base))
        #expect(try !DomainName("notex.com").isSubdomain(of: base))
        #expect(!base.isSubdomain(of: base))
    }

    @Test func `mail for everyone is known`() throws {
        #expect(try DomainName("GMAIL.com").isPublicMail)
        #expect(try DomainName("qq.com").isPublicMail)
        #expect(try !DomainName("ex.com").isPublicMail)
    }

    @Test(arguments: ["1.2.3.4", "10.0.0.0x1", "ex.123"])
    func `what a browser reads as an address is no name`(text: String) {
        #expect(throws: DomainFault.address) { try DomainName(text) }
    }

    @Test(
        arguments: [
            "", ".", "..", "a..b", "xn--\u{80}.com", "xn--a.com", "a b.com", "*.ex.com", "a_b.com",
        ])
    func `what is no name is refused`(text: String) {
        #expect(throws: DomainFault.self) { try DomainName(text) }
    }

    @Test(arguments: ["ab", "a-b", "a1", "acme-eu", "11"])
    func `a slug within the rule is accepted`(text: String) {
        #expect(Slug(text)?.value == text)
    }

    @Test(
        arguments: [
            "", "a", "-a", "a-", "A1", "a_b", "a b", "a.b", "\u{e9}a", "a\u{301}b",
            "8f14e45f-ceea-467f-a8f5-123456789abc", "ab\n",
        ])
    func `a slug outside the rule is refused`(text: String) {
        #expect(Slug(text) == nil)
    }

    @Test func `a slug has at most sixty-three characters`() {
        #expect(Slug(String(repeating: "a", count: 63)) != nil)
        #expect(Slug(String(repeating: "a", count: 64)) == nil)
    }
}
