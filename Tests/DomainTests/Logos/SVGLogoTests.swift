import Testing

@testable import Domain

/// What of an SVG is kept as a logo, and what is no logo.
struct SVGLogoTests {
    private static func kept(_ text: String) throws -> String {
        String(decoding: try Logo(.svg, Array(text.utf8)).content, as: UTF8.self)
    }

    @Test func `shapes are written anew, without declaration, comments, ids and space`() throws {
        let drawn = """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
            <!-- Drawn by hand -->
            <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
                id="logo" version="1.1" viewBox='0 0 16 16'>
              <g fill="#1d5bc9" transform="rotate(45 8 8)">
                <path d="M1 1 L5,5z"/><rect x="1" y="1" width="50%" height="2"></rect >
              </g>
              <!-- <script>alert(1)</script> -->
            </svg>
            """
        #expect(
            try Self.kept(drawn) == """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">\
                <g fill="#1d5bc9" transform="rotate(45 8 8)"><path d="M1 1 L5,5z"/>\
                <rect x="1" y="1" width="50%" height="2"></rect></g></svg>
                """)
        let again = try Self.kept(drawn)
        #expect(try Self.kept(again) == again)
    }

    @Test(arguments: [
        // What runs.
        #"<svg viewBox="0 0 1 1"><script>alert(1)</script></svg>"#,
        #"<svg viewBox="0 0 1 1" onload="alert(1)"/>"#,
        #"<svg viewBox="0 0 1 1"><path d="M0 0" onclick="x()"/></svg>"#,
        #"<svg viewBox="0 0 1 1"><SCRIPT/></svg>"#,
        #"<svg viewBox="0 0 1 1"><foreignObject/></svg>"#,
        #"<svg viewBox="0 0 1 1"><animate attributeName="href" to="javascript:x()"/></svg>"#,
        #"<svg viewBox="0 0 1 1"><set/></svg>"#,
        // What loads, links or styles.
        #"<svg viewBox="0 0 1 1"><image href="https://evil.example/x.png"/></svg>"#,
        ##"<svg viewBox="0 0 1 1"><use href="#a"/></svg>"##,
        #"<svg viewBox="0 0 1 1"><a href="javascript:x()"><path d="M0 0"/></a></svg>"#,
        ##"<svg viewBox="0 0 1 1"><path xlink:href="#a" d="M0 0"/></svg>"##,
        #"<svg viewBox="0 0 1 1"><path fill="url(https://evil.example)" d="M0 0"/></svg>"#,
        #"<svg viewBox="0 0 1 1"><path fill="URL(#a)" d="M0 0"/></svg>"#,
        #"<svg viewBox="0 0 1 1"><style>@import "x"</style></svg>"#,
        #"<svg viewBox="0 0 1 1"><path style="fill:red" d="M0 0"/></svg>"#,
        #"<svg viewBox="0 0 1 1"><path class="a" d="M0 0"/></svg>"#,
        // What XML can do.
        #"<!DOCTYPE svg [<!ENTITY a "b">]><svg viewBox="0 0 1 1"/>"#,
        #"<svg viewBox="0 0 1 1"><path d="&a;"/></svg>"#,
        ##"<svg viewBox="0 0 1 1"><path d="&#x41;"/></svg>"##,
        #"<svg viewBox="0 0 1 1"><![CDATA[<script/>]]></svg>"#,
        #"<svg viewBox="0 0 1 1"><?xml-stylesheet href="x"?></svg>"#,
        #"<?xml-stylesheet href="x"?><svg viewBox="0 0 1 1"/>"#,
        #"<svg viewBox="0 0 1 1">text</svg>"#,
        #"<svg viewBox="0 0 1 1"><x:path xmlns:x="http://www.w3.org/2000/svg"/></svg>"#,
        #"<svg xmlns="http://www.w3.org/1999/xhtml" viewBox="0 0 1 1"/>"#,
        #"<svg viewBox="0 0 1 1"><g xmlns="http://www.w3.org/1999/xhtml"/></svg>"#,
        // What is no well-formed picture.
        "", "<", "<svg", "<svg>", #"<svg viewBox="0 0 1 1">"#, #"<svg viewBox="0 0 1 1"><g></svg>"#,
        #"<svg viewBox="0 0 1 1"/><svg viewBox="0 0 1 1"/>"#, #"<svg viewBox="0 0 1 1"/>x"#,
        #"<g viewBox="0 0 1 1"/>"#, #"<svg viewBox="0 0 1 1"><svg viewBox="0 0 1 1"/></svg>"#,
        "<svg/>", #"<svg viewBox="0 0 1 1" viewBox="0 0 2 2"/>"#, "<svg viewBox=0/>",
        #"<svg viewBox="0 0 1 1"<g/>"#, #"<svg viewBox="<"/>"#, "<!-- <svg viewBox='0 0 1 1'/>",
        #"</svg>"#, #"<svg viewBox="0 0 1 1"><path d="\u{202E}"/></svg>"#,
        #"<svg viewBox="0 0 1 1">"# + String(repeating: "<g>", count: 40)
            + String(repeating: "</g>", count: 40) + "</svg>",
        #"<svg viewBox="0 0 1 1"><path d=""# + String(repeating: "M0 0", count: 6000)
            + #""/></svg>"#,
    ])
    func `what could run, load, style or mislead is no logo`(_ text: String) {
        #expect(throws: LogoFault.self) { try Self.kept(text) }
    }
}
