import Testing
import Text

@Suite struct OriginTests {
    @Test(
        arguments: [
            ("HTTPS://App.Ex.com:443/", "https://app.ex.com"),
            ("https://app.ex.com", "https://app.ex.com"),
            ("https://app.ex.com:8443", "https://app.ex.com:8443"),
            ("http://app.ex.com:80", "http://app.ex.com"),
            ("http://app.ex.com:443", "http://app.ex.com:443"),
            ("https://app.ex.com:00443/", "https://app.ex.com"),
            ("https://b\u{fc}cher.example", "https://xn--bcher-kva.example"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://192.168.1.100:2283", "http://192.168.1.100:2283"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("https://[2001:DB8:0::1]", "https://[2001:db8::1]"),
            ("https://[::ffff:1.2.3.4]", "https://[::ffff:102:304]"),
            ("capacitor://localhost", "capacitor://localhost"),
            ("Ionic://LocalHost/", "ionic://localhost"),
            ("tauri://localhost", "tauri://localhost"),
            ("http://tauri.localhost", "http://tauri.localhost"),
            ("https://localhost", "https://localhost"),
            ("chrome-extension://abcdefghijklmnop", "chrome-extension://abcdefghijklmnop"),
            ("https://*.Ex.com", "https://*.ex.com"),
            ("https://*.ex.com:443/", "https://*.ex.com"),
        ])
    func `an origin is stored in the form that browsers send`(text: String, stored: String)
        throws
    {
        let origin = try Origin(configuring: text)
        #expect(origin.canonical == stored)
        let again = try Origin(configuring: origin.canonical)
        #expect(again.canonical == stored)
        #expect(again.changes.isEmpty)
        #expect(origin.changes.isEmpty == text.utf8.elementsEqual(stored.utf8))
    }

    @Test(
        arguments: [
            ("https://feature_x.acme.example", "https://feature_x.acme.example"),
            ("https://My_App.acme.example:8443", "https://my_app.acme.example:8443"),
            ("http://_dev:3000", "http://_dev:3000"),
        ])
    func `an underscore in a host is kept`(text: String, stored: String) throws {
        #expect(try Origin(configuring: text).description == stored)
        #expect(try Origin(configuring: text).matches(Array(stored.utf8)))
        #expect(throws: OriginFault.badHost) {
            try Origin(configuring: "https://feature_x..acme.example")
        }
    }

    @Test(
        arguments: [
            ("", .empty), ("*", .everyOrigin), ("null", .nullOrigin), ("app.ex.com", .noScheme),
            ("//app.ex.com", .noScheme), ("https:app.ex.com", .noScheme),
            ("https://app.ex.com/path", .pathQueryOrFragment),
            ("https://app.ex.com//", .pathQueryOrFragment),
            ("https://app.ex.com?x", .pathQueryOrFragment),
            ("https://app.ex.com#x", .pathQueryOrFragment),
            ("https://app.ex.com\\", .pathQueryOrFragment), ("https://u:p@app.ex.com", .userInfo),
            ("https://u@app.ex.com", .userInfo), (" https://app.ex.com", .whitespaceOrControl),
            ("https://app.ex.com\n", .whitespaceOrControl),
            ("https://a\u{0}.ex.com", .whitespaceOrControl),
            ("https://app.ex.com:0", .badPort), ("https://app.ex.com:65536", .badPort),
            ("https://app.ex.com:", .badPort), ("https://app.ex.com:8a", .badPort),
            ("https://::1", .bareIPv6), ("https://2001:db8::1", .bareIPv6),
            ("https://[::1", .badHost), ("https://[::g]", .badHost),
            ("https://[fe80::1%25x]", .badHost),
            ("https://", .badHost), ("https:///", .badHost), ("https://1.2.3", .badHost),
            ("https://01.2.3.4", .badHost), ("https://0x7f000001", .badHost),
            ("https://app..ex.com", .badHost), ("https://app.ex.com.", .badHost),
            ("https://-a.ex.com", .badHost), ("ftp://ex.com", .unknownScheme),
            ("javascript://ex.com", .unknownScheme), ("file://", .fileScheme),
            ("file:///x", .fileScheme), ("http://*.ex.com", .wildcardNeedsHTTPS),
            ("https://*", .wildcardMisplaced), ("https://a.*.ex.com", .wildcardMisplaced),
            ("https://a*.ex.com", .wildcardMisplaced), ("https://*.*.ex.com", .wildcardMisplaced),
            ("https://*.com", .wildcardOfPublicSuffix),
            ("https://*.co.uk", .wildcardOfPublicSuffix),
            ("https://*.github.io", .wildcardOfPublicSuffix), ("https://*.1.2.3.4", .badHost),
            ("https://*.ex.com:8443", .portNotAllowed),
            ("capacitor://localhost:80", .portNotAllowed),
            ("capacitor://*.ex.com", .wildcardMisplaced), ("capacitor://", .badHost),
        ] as [(String, OriginFault)])
    func `an invalid origin is refused with its fault`(text: String, fault: OriginFault) {
        #expect(throws: fault) { try Origin(configuring: text) }
        // It continues the member's name.
        #expect(fault.reason.first?.isLowercase == true && !fault.reason.hasSuffix("."))
    }

    private func matches(_ stored: String, _ request: String) throws -> Bool {
        try Origin(configuring: stored).matches(Array(request.utf8))
    }

    @Test func `an exact origin matches equal bytes alone`() throws {
        #expect(try matches("https://app.ex.com", "https://app.ex.com"))
        for other in [
            "HTTPS://App.Ex.com", "https://app.ex.com/", "https://app.ex.com:443",
            "http://app.ex.com", "https://app.ex.com.evil.com", "https://app.ex.co", "",
            "https://app.e\u{445}.com",
        ] {
            #expect(try !matches("https://app.ex.com", other))
        }
    }

    @Test func `a wildcard matches one valid label alone`() throws {
        #expect(try matches("https://*.ex.com", "https://a.ex.com"))
        #expect(try matches("https://*.ex.com", "https://xn--bcher-kva.ex.com"))
        for other in [
            "https://ex.com", "https://a.b.ex.com", "https://.ex.com", "https://-a.ex.com",
            "https://notex.com", "http://a.ex.com", "https://a.ex.com:8443", "https://A.ex.com",
            "https://a.ex.com.", "https://a_b.ex.com", "https://evil.com/.ex.com",
            "https://evil.com?.ex.com", "https://u@.ex.com",
            "https://" + String(repeating: "a", count: 64) + ".ex.com",
        ] {
            #expect(try !matches("https://*.ex.com", other))
        }
    }

    @Test func `cookies may go with https and this machine alone`() throws {
        for (text, may) in [
            ("https://app.ex.com", true), ("http://localhost:5173", true),
            ("http://app.ex.com", false), ("capacitor://localhost", false),
            ("https://*.ex.com", false), ("http://tauri.localhost", false),
        ] {
            #expect(try Origin(configuring: text).mayCarryCredentials == may)
        }
    }

    @Test(
        arguments: [
            ("http://localhost:5173", true), ("http://127.0.0.1:1", true),
            ("http://[::1]:65535", true), ("http://localhost", false),
            ("http://localhost:0", false), ("http://localhost:65536", false),
            ("http://localhost:05173", false), ("http://localhost:5173/", false),
            ("https://localhost:5173", false), ("http://localhost.evil.com:1", false),
            ("http://localhost:1@evil.com", false), ("http://127.0.0.2:1", false),
        ])
    func `a development origin is loopback with a port`(text: String, expected: Bool) {
        #expect(Origin.isLoopbackDevelopment(Array(text.utf8)) == expected)
    }
}
