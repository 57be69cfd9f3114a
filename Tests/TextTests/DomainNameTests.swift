import Testing
import Text

@Suite struct DomainNameTests {
    @Test func `public suffixes are known`() throws {
        #expect(try DomainName("co.uk").isPublicSuffix)
        #expect(try DomainName("github.io").isPublicSuffix)
        #expect(try !DomainName("ex.co.uk").isPublicSuffix)
    }

    @Test func `mail for everyone is known`() throws {
        #expect(try DomainName("GMAIL.com").isPublicMail)
        #expect(try DomainName("qq.com").isPublicMail)
        #expect(try !DomainName("ex.com").isPublicMail)
    }

    @Test(
        arguments: [
            "privaterelay.appleid.com", "users.noreply.github.com", "mailinator.com", "daum.net",
            "wp.pl", "btinternet.com", "uol.com.br", "bol.com.br", "live.nl", "ya.ru",
            "simplelogin.com", "mail.gmail.com",
        ])
    func `mail for everyone is known by less usual names too`(name: String) throws {
        #expect(try DomainName(name).isPublicMail)
    }

    @Test(arguments: ["1.2.3.4", "10.0.0.0x1", "ex.123"])
    func `a name that browsers read as an IP address is refused`(text: String) {
        #expect(throws: DomainFault.address) { try DomainName(text) }
    }

    @Test(
        arguments: [
            "", ".", "..", "a..b", "xn--\u{80}.com", "xn--a.com", "a b.com", "*.ex.com", "a_b.com",
        ])
    func `an invalid name is refused`(text: String) {
        #expect(throws: DomainFault.self) { try DomainName(text) }
    }
}
