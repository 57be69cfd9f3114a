import Cryptography
import Domain
import JSON
import Storage
import TestSupport
import Testing
import Text

@testable import API

/// Files as Excel, LibreOffice and Google Sheets write them: `Tests/ImportFiles`. LibreOffice 7.4 wrote its two.
struct SpreadsheetImportTests {
    private static let files: [(name: String, isWindows1252: Bool)] = [
        ("excel-de.csv", false), ("excel-de-1252.csv", true), ("excel-sep.csv", false),
        ("excel-tab.csv", true), ("libreoffice.csv", false), ("libreoffice-1252.csv", true),
        ("google-sheets.csv", false),
    ]

    @Test(arguments: files.indices, [1, 3, 4096])
    func `a spreadsheet's file is read as the spreadsheet shows it`(_ index: Int, _ size: Int)
        throws
    {
        let (name, isWindows1252) = Self.files[index]
        var options = ImportOptions()
        options.isWindows1252 = isWindows1252
        let rows = try Self.read(ImportFile.bytes(name), options, pieces: size)
        try #require(rows.count == 3, "\(rows)")
        let users = try rows.map { try $0.content.get() }
        #expect(
            users.map(\.email.original) == [
                "ann@sheets.example", "bea@sheets.example", "cid@sheets.example",
            ])
        #expect(users.map(\.name) == ["Ann Ärmel", "Doe; Bea", "Cid \"C\" Zoë"])
        #expect(users.map(\.isKept) == [true, false, nil])
        #expect(users.map(\.externalID) == ["7", nil, "9"])
        #expect(users[0].role == .manager && users[1].createdAt == nil)
        #expect(users[0].createdAt == users[2].createdAt && users[0].note == nil)
        #expect(users[2].note == "The time of creation has no time zone, and is read as UTC.")
    }

    @Test func `another encoding is refused by its name`() throws {
        #expect(
            throws: ImportFileFault(
                detail: "is UTF-16, UTF-32 or not text, such as a packed file; unpack it, and save "
                    + "it as UTF-8")
        ) {
            try Self.read(ImportFile.bytes("excel-unicode.csv"))
        }
        let rows = try Self.read(ImportFile.bytes("excel-de-1252.csv"))
        guard case .failure(let fault) = rows[0].content else {
            Issue.record("it came in")
            return
        }
        #expect(fault.detail.contains("Windows-1252"))
    }

    @Test func `a column may be several of ours, the same ones each time`() throws {
        let file = "id,mail,kind,from\n7,ann@x.example,oidc,https://idp.example\n"
        var options = ImportOptions()
        options.mapping = [
            "email": "mail", "name": "mail", "external_id": "id", "subject": "id",
            "provider": "kind",
            "issuer": "from", "public_attributes.former_id": "id",
        ]
        for _ in 0..<20 {
            let user = try Self.read(Array(file.utf8), options)[0].content.get()
            #expect(user.externalID == "7" && user.name == "ann@x.example")
            #expect(user.identities.map(\.subject) == ["7"])
            #expect(user.publicAttributes == [.init("former_id", .string("7"))])
        }
    }

    @Test(arguments: [
        ("email,provider,issuer,subject\na@x.example,oidc,https://i.example,\n", "no subject"),
        ("email,provider\na@x.example,oidc\n", "no subject"),
        ("email,email_verified\na@x.example,maybe\n", "true or false"),
        ("email,created_at\na@x.example,yesterday\n", "not a time"),
        ("email\na@x.example,b\n", "more cells"),
        ("email,name\n\"a@x.example\" x,b\n", "followed by"),
    ])
    func `a value that would be lost is refused`(_ file: String, _ reason: String) throws {
        let rows = try Self.read(Array(file.utf8))
        guard case .failure(let fault) = rows[0].content else {
            Issue.record("it came in")
            return
        }
        #expect(fault.detail.contains(reason), "\(fault)")
    }

    @Test(arguments: [
        ("mail;name\n", "is wrong in the first line: The column mail is unknown"),
        ("email;role;email\n", "is wrong in the first line: Two columns have the same name: email"),
        ("email,shoe\n", "is wrong in the first line: The column shoe is unknown"),
        ("\r\n \r\n", "is empty"),
        ("email\na@b.example\n\"open", "is wrong after row 1: "), ("sep=;\r\n", "is empty"),
    ])
    func `a file that cannot be read is refused with the place of the error`(
        _ file: String, _ words: String
    ) {
        #expect {
            try Self.read(Array(file.utf8))
        } throws: { ($0 as? ImportFileFault)?.detail.contains(words) == true }
    }

    @Test(arguments: [
        "email;name\na@x.example;A, B\n", "email\tname\na@x.example\tA, B\n",
        "\u{FEFF}sep=|\nemail|name\na@x.example|A, B\n",
        "\n ;; \nemail;name;;\na@x.example;A, B\n\n",
        "email , name\n a@x.example , \"A, B\" \n",
        "\"email\";\"name\"\n\"a@x.example\";\"A, B\"\n",
        "\u{A0}email\u{200B},name\na@x.example\u{A0},\"\u{2003}A, B\u{FEFF}\"\r\n,\r\n",
    ])
    func `separators, empty rows and spaces are not part of values`(_ file: String) throws {
        for size in [1, 4096] {
            let rows = try Self.read(Array(file.utf8), pieces: size)
            let users = try rows.map { try $0.content.get() }
            #expect(users.map(\.email.original) == ["a@x.example"] && users[0].name == "A, B")
        }
    }

    @Test(arguments: [
        ("2021-02-03T04:05:06", false), ("2021-02-03 04:05:06.123456789", false),
        ("2021-02-03", false), ("2021-02-03 04:05", false), ("2021-02-03 04:05:06 UTC", true),
        ("2021-02-03 04:05:06+00", true), ("2021-02-03 04:05:06+00:00", true),
        ("2021-02-03T04:05:06.1234567Z", true), ("1612325106", true),
    ])
    func `a time without a zone is UTC, and that is said`(_ text: String, _ hasZone: Bool) throws {
        let user = try Self.read(Array("email,created_at\na@x.example,\(text)\n".utf8))[0].content
            .get()
        #expect(user.createdAt?.description.hasPrefix("2021-02-03T") == true)
        #expect((user.note == nil) == hasZone)
    }

    @Test func `guards are removed only from our own exports`() throws {
        let own = CSVColumn.all(of: UserRow.shape).map(\.name)
        let names = ["email", "name"]
        func file(_ columns: [String]) -> [UInt8] {
            let cells = columns.map { ["email": "'+a@x.example", "name": "'=x;'-y"][$0] ?? "" }
            return Array(
                "\(columns.joined(separator: ","))\n\(cells.joined(separator: ","))\n".utf8)
        }
        let user = try Self.read(file(own))[0].content.get()
        #expect(user.email.original == "+a@x.example" && user.name == "=x;-y")
        #expect(try Self.read(file(names))[0].content.get().name == "'=x;'-y")
        var options = ImportOptions()
        options.isGuarded = true
        #expect(try Self.read(file(names), options)[0].content.get().name == "=x;-y")
    }

    @Test func `removing the guards restores every text`() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("=+-@\t\r\n;'a,\"\u{FF1D}\u{FF0B}ß".unicodeScalars)
        let formulas = Set("=+-@\t\r\u{FF1D}\u{FF0B}".unicodeScalars)
        for _ in 0..<20_000 {
            var scalars = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                if let one = alphabet.randomElement(using: &random) { scalars.append(one) }
            }
            let text = String(scalars)
            let guarded = CSV.guarded(text)
            #expect(sameBytes(CSV.unguarded(guarded), text), "\(text.debugDescription)")
            var begins = true
            for scalar in guarded.unicodeScalars {
                // A tab or a return that ends an empty cell is guarded in front of it.
                #expect(!begins || !formulas.contains(scalar), "\(guarded.debugDescription)")
                begins = ";\t\r\n".unicodeScalars.contains(scalar)
            }
        }
    }

    private static func read(
        _ bytes: [UInt8], _ options: ImportOptions = ImportOptions(), pieces size: Int = 4096
    ) throws -> [StagedRow] {
        var reader = ImportReader(.csv, isCSV: true, options)
        var rows: [StagedRow] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            rows += try reader.read(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        return try rows + reader.finish()
    }
}

extension ImportFileFault: Equatable {
    public static func == (left: ImportFileFault, right: ImportFileFault) -> Bool {
        left.detail == right.detail
    }
}
