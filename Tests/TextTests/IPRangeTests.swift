import Testing
import Text

@Suite struct IPRangeTests {
    private func contains(_ range: String, _ address: String) throws -> Bool {
        try #require(IPRange(range)).contains(try #require(IPAddress(address)))
    }

    @Test func `a block holds its first and last address and no other`() throws {
        #expect(try contains("10.0.0.0/8", "10.255.255.255"))
        #expect(try !contains("10.0.0.0/8", "11.0.0.0"))
        #expect(try contains("192.0.2.129/25", "192.0.2.255"))
        #expect(try !contains("192.0.2.129/25", "192.0.2.127"))
        #expect(try contains("0.0.0.0/0", "255.1.2.3"))
        #expect(try contains("2001:db8::/33", "2001:db8:7fff::1"))
        #expect(try !contains("2001:db8::/33", "2001:db8:8000::1"))
        #expect(try !contains("::/0", "1.2.3.4"))
        #expect(try contains("::1", "::1"))
    }

    @Test func `a mapped address is the address it holds`() throws {
        #expect(try contains("10.0.0.0/8", "::ffff:10.1.2.3"))
        #expect(IPRange("::ffff:10.0.0.0/104")?.description == "10.0.0.0/8")
    }

    @Test func `bits beyond the prefix are cleared`() {
        #expect(IPRange("10.1.2.3/8")?.description == "10.0.0.0/8")
        #expect(IPRange("2001:DB8::1/32")?.description == "2001:db8::/32")
    }

    @Test(
        arguments: [
            "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0/8",
            "::/129",
            "10.0.0.0/8/8", "010.0.0.1", "1.2.3.4 ", "fe80::1%eth0", "10.0.0.0/+8",
            "::ffff:1.2.3.4/8",
        ])
    func `an invalid block of addresses is refused`(text: String) {
        #expect(IPRange(text) == nil)
    }

    @Test(
        arguments: [
            "127.0.0.1", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.31.0.1", "192.168.1.1",
            "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1", "::", "::1", "fe80::1",
            "fc00::1", "ff02::1", "64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1", "2001::1",
            "::ffff:127.0.0.1", "::7f00:1",
        ])
    func `an address of no public network is not global`(text: String) throws {
        #expect(try !#require(IPAddress(text)).isGlobal)
    }

    @Test(arguments: ["1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"])
    func `a public address is global`(text: String) throws {
        #expect(try #require(IPAddress(text)).isGlobal)
    }

    @Test(
        arguments: [
            ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:DB8:1:2::9", "2001:db8:1:2::/64"), ("unknown", "unknown"),
        ])
    func `limits count an IPv4 address and an IPv6 network`(address: String, network: String) {
        #expect(IPAddress.network(of: address) == network)
    }
}
