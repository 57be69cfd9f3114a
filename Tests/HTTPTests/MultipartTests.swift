import Testing

@testable import HTTP

@Suite struct MultipartTests {
    private static let type = "multipart/form-data; boundary=AaB03x"

    private static let form = """
        --AaB03x
        Content-Disposition: form-data; name="options"
        Content-Type: application/json; charset=utf-8

        {"mapping":{}}
        --AaB03x
        content-disposition: form-data; name="file"; filename="a \\"b\\".csv"

        email
        --AaB03
        a@b.example

        --AaB03x--

        """.replacing("\n", with: "\r\n")

    private func read(_ pieces: [[UInt8]], type: String = Self.type) throws -> [String] {
        var reader = try #require(MultipartReader(contentType: type))
        var found: [String] = []
        var content: [UInt8] = []
        for piece in pieces + [[]] {
            reader.append(piece)
            reading: while true {
                switch try reader.next() {
                case .needsMore: break reading
                case .part(let part): found.append("\(part.name) \(part.type)")
                case .content(let bytes): content += bytes
                case .partEnded:
                    found.append(String(decoding: content, as: UTF8.self))
                    content = []
                case .ended:
                    found.append("end")
                    break reading
                }
            }
        }
        return found
    }

    @Test func `a form is the same in one piece and in any two`() throws {
        let bytes = Array(Self.form.utf8)
        let wanted = [
            "options application/json", #"{"mapping":{}}"#, "file ",
            "email\r\n--AaB03\r\na@b.example\r\n", "end",
        ]
        for split in 1..<bytes.count {
            #expect(try read([Array(bytes[..<split]), Array(bytes[split...])]) == wanted)
        }
        #expect(try read(bytes.map { [$0] }) == wanted)
    }

    @Test func `a quoted boundary is read, a bad one is not`() {
        #expect(MultipartReader(contentType: #"multipart/form-data; boundary="a b""#) != nil)
        for type in [
            "multipart/form-data", "multipart/form-data; boundary=",
            #"multipart/form-data; boundary="a ""#, #"multipart/form-data; boundary="a"b""#,
            "multipart/form-data; boundary=a; boundary=b",
            "multipart/form-data; boundary=\(String(repeating: "a", count: 71))",
        ] {
            #expect(MultipartReader(contentType: type) == nil, "\(type)")
        }
    }

    @Test func `what two readers could read differently is refused`() {
        let form = Self.form
        for text in [
            "preamble\r\n" + form, form + "more", String(form.dropLast(8)),
            form.replacing("\r\n\r\nemail", with: "\r\nemail"),
            form.replacing("form-data; name=\"file\"", with: "attachment; name=\"file\""),
            form.replacing("; name=\"file\"", with: ""),
            form.replacing(
                "content-disposition", with: "Content-Transfer-Encoding: base64\r\nx: y\r\nx"),
            form.replacing("--AaB03x\r\nC", with: "--AaB03xy\r\nC"),
        ] {
            #expect(throws: HTTPError.self) { try read([Array(text.utf8)]) }
        }
    }
}
