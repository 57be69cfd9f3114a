import Cryptography
import Domain
import JSON
import Storage
import TestSupport
import Testing
import Text

@testable import API

/// Files of other systems, each with rows that cannot be imported: `Tests/ImportFiles`.
struct ImportReaderTests {
    /// The code of each row's fault, `-` for a row that is taken, `~` with something left out.
    private static let outcomes: [(file: String, format: ImportFormat, rows: String)] = [
        (
            "users.csv", .csv,
            """
            - - - email_missing email_invalid email_invalid email_invalid email_invalid \
            email_invalid - - - validation_failed validation_failed ~ ~ validation_failed \
            validation_failed validation_failed validation_failed validation_failed \
            - invalid_request invalid_request - - invalid_request invalid_request
            """
        ),
        (
            "users.ndjson", .ndjson,
            """
            - - - validation_failed email_missing email_invalid email_invalid email_invalid \
            email_invalid email_invalid - - - email_invalid validation_failed validation_failed \
            validation_failed validation_failed validation_failed validation_failed email_missing \
            invalid_request invalid_request invalid_request ~
            """
        ),
        (
            "auth0.ndjson", .auth0,
            """
            - - - - - email_missing email_missing email_invalid email_invalid email_invalid \
            email_invalid email_invalid - - - ~ ~ ~ - ~ ~ ~ invalid_request invalid_request \
            invalid_request - validation_failed validation_failed invalid_request
            """
        ),
        (
            "supabase.json", .supabase,
            """
            - - - email_missing email_missing email_invalid email_invalid email_invalid \
            email_invalid email_invalid - - ~ ~ - ~ - - - ~ - - - -
            """
        ),
        (
            "clerk.csv", .clerk,
            """
            - - - email_missing email_invalid email_invalid email_invalid email_invalid \
            email_invalid - - ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ email_missing email_missing invalid_request
            """
        ),
        (
            "keycloak.json", .keycloak,
            """
            - - - email_missing email_missing email_invalid email_invalid email_invalid \
            email_invalid email_invalid - - - ~ ~ ~ ~ ~ ~ - ~ ~ - - - -
            """
        ),
        (
            "firebase.json", .firebase,
            """
            - - - email_missing email_missing email_invalid email_invalid email_invalid \
            email_invalid email_invalid - - ~ ~ ~ - ~ - ~ - - - - - -
            """
        ),
        (
            "cognito.json", .cognito,
            """
            - - - - email_missing email_missing email_invalid email_invalid email_invalid \
            email_invalid email_invalid - - - - - - - - ~ - - - - -
            """
        ),
    ]

    @Test(arguments: outcomes.indices)
    func `each row of a file is taken or refused for itself`(_ index: Int) throws {
        let (file, format, wanted) = Self.outcomes[index]
        let bytes = try ImportFile.bytes(file)
        let rows = try Self.read(bytes, format, isCSV: file.hasSuffix(".csv"), pieces: bytes.count)
        let found = rows.map { row in
            switch row.content {
            case .success(let user): user.note == nil ? "-" : "~"
            case .failure(let fault): fault.code
            }
        }
        #expect(found.joined(separator: " ") == wanted, "\(rows.map { "\($0)" })")
        #expect(rows.map(\.row) == Array(1...rows.count))
        for row in rows {
            if case .failure(let fault) = row.content { #expect(fault.detail.hasSuffix(".")) }
        }
    }

    @Test(arguments: outcomes.indices)
    func `a file is the same in pieces of any size`(_ index: Int) throws {
        let (file, format, _) = Self.outcomes[index]
        let bytes = try ImportFile.bytes(file)
        let isCSV = file.hasSuffix(".csv")
        let whole = try Self.read(bytes, format, isCSV: isCSV, pieces: bytes.count)
        for size in [1, 7, 4096] {
            let rows = try Self.read(bytes, format, isCSV: isCSV, pieces: size)
            #expect(rows.map { "\($0)" } == whole.map { "\($0)" })
        }
    }

    @Test func `every member that a format has about a person is imported`() throws {
        func first(_ file: String, _ format: ImportFormat) throws -> ImportedUser {
            let rows = try Self.read(
                ImportFile.bytes(file), format, isCSV: file.hasSuffix(".csv"), pieces: 4096)
            return try rows[0].content.get()
        }
        for (file, format, _) in Self.outcomes {
            let user = try first(file, format)
            #expect(user.email.key == "ann@\(Self.domain(of: file))", "\(file)")
            #expect(
                user.emailVerified
                    && user.name
                        == (format == .clerk ? "First Last" : format == .keycloak ? "Ann A" : "Ann")
            )
            #expect(user.externalID != nil)
            #expect((user.passwordHash == nil) == (format == .cognito), "\(file)")
            // What people wrote about themselves is no attribute of its own.
            let written = user.privateAttributes.first { $0.name == "user_metadata" }
            let attributes =
                [.supabase, .auth0].contains(format)
                ? written?.value.members ?? [] : user.publicAttributes + user.privateAttributes
            #expect(user.publicAttributes.isEmpty || [.csv, .ndjson].contains(format))
            #expect(
                attributes.contains { $0.name == "plan" && $0.value == .string("team") }
                    || format == .clerk, "\(file)")
            #expect(
                user.createdAt.map { $0.description.hasPrefix("2021-02-03T04:05:06") }
                    ?? [.clerk, .ndjson].contains(format), "\(file)")
        }
        let auth0 = try Self.read(
            ImportFile.bytes("auth0.ndjson"), .auth0, isCSV: false, pieces: 4096,
            issuer: "https://acme.auth0.com/")
        #expect(
            try auth0[1].content.get().identities == [
                ImportedIdentity(
                    provider: "oidc", issuer: "https://acme.auth0.com/",
                    subject: "google-oauth2|110", email: "bea@auth0.example"),
                ImportedIdentity(
                    provider: "google", issuer: "https://accounts.google.com", subject: "110"),
            ])
    }

    @Test(arguments: [
        ("ann@x.example", "ann@x.example", true),
        ("ann@x.example", "Ann@X.example|bea@x.example", true),
        ("n@x.example", "ann@x.example", false), ("ann@x.example", "joann@x.example", false),
        ("ann@x.example", "ann@x.example.org, b@x.example", false), ("ann@x.example", "", false),
    ])
    func `Clerk's list of verified addresses holds the whole address`(
        _ email: String, _ verified: String, _ wanted: Bool
    ) throws {
        let row = "primary_email_address,verified_email_addresses\n\(email),\"\(verified)\"\n"
        let rows = try Self.read(Array(row.utf8), .clerk, isCSV: true, pieces: 4096)
        #expect(try rows[0].content.get().emailVerified == wanted)
    }

    @Test(arguments: [
        (#""email_confirmed_at":"2021-02-03T04:05:06Z""#, true),
        (#""confirmed_at":"2021-02-03T04:05:06Z","phone":"49123""#, false),
    ])
    func `a phone that Supabase confirmed proves no address`(_ member: String, _ wanted: Bool)
        throws
    {
        let row = #"[{"email":"ann@x.example",\#(member)}]"#
        let rows = try Self.read(Array(row.utf8), .supabase, isCSV: false, pieces: 4096)
        #expect(try rows[0].content.get().emailVerified == wanted)
    }

    @Test func `of Clerk's users the main address counts, not another that is verified`() throws {
        let row = #"""
            [{"primary_email_address_id":"2","email_addresses":[
            {"id":"1","email_address":"a@x.example","verification":{"status":"verified"}},
            {"id":"2","email_address":"b@x.example","verification":{"status":"unverified"}}]}]
            """#
        let rows = try Self.read(Array(row.utf8), .clerk, isCSV: false, pieces: 4096)
        let user = try rows[0].content.get()
        #expect(user.email.key == "b@x.example" && !user.emailVerified)
    }

    /// Each member looked for among all before it would take minutes here.
    @Test func `a row with very many members is refused, and soon`() throws {
        let members = (0..<80_000).map { "\"a\($0)\":0" }.joined(separator: ",")
        let row = #"{"email":"ann@x.example","app_metadata":{\#(members)}}"#
        let rows = try Self.read(Array(row.utf8), .auth0, isCSV: false, pieces: 1 << 16)
        guard case .failure(let fault) = rows[0].content else {
            Issue.record("it came in")
            return
        }
        #expect(fault.code == "validation_failed")
    }

    @Test func `an overlong address of a sign-in is omitted, and a row's detail is short`()
        throws
    {
        let long = String(repeating: "x", count: 5000)
        let row = #"""
            {"email":"ann@x.example","identities":[
            {"provider":"oidc","issuer":"https://i.example","subject":"1","email":"\#(long)"}]}
            """#.replacing("\n", with: "")
        let rows = try Self.read(Array(row.utf8), .ndjson, isCSV: false, pieces: 4096)
        #expect(try rows[0].content.get().identities.first?.email == nil)
        let odd = #"""
            {"email":"ann@x.example","user_id":"a|1","identities":[{"provider":"\#(long)","user_id":"1"}]}
            """#
        let noted = try Self.read(Array(odd.utf8), .auth0, isCSV: false, pieces: 4096)
        #expect(try noted[0].content.get().note?.unicodeScalars.count == ImportLimits.note)
    }

    @Test(arguments: ["name", "external_id"])
    func `characters that change the writing direction are refused as at /v1`(_ member: String)
        throws
    {
        let row = #"{"email":"ann@x.example","\#(member)":"a\#u{202E}b"}"#
        let rows = try Self.read(Array(row.utf8), .ndjson, isCSV: false, pieces: 4096)
        guard case .failure(let fault) = rows[0].content else {
            Issue.record("it came in")
            return
        }
        #expect(fault.code == "validation_failed" && fault.detail.contains("control "))
    }

    @Test(arguments: [
        ("2020-01-01T00:00:00Z", false), ("2099-01-01 00:00:00+00", true), ("none", false),
    ])
    func `a ban of Supabase suspends until it ends`(_ until: String, _ wanted: Bool) throws {
        let row = #"[{"email":"ann@x.example","banned_until":"\#(until)"}]"#
        let rows = try Self.read(Array(row.utf8), .supabase, isCSV: false, pieces: 4096)
        #expect(try rows[0].content.get().isSuspended == wanted)
    }

    @Test(arguments: ["{}\n{}", "{}\n{}\n{}"])
    func `a file has a limited number of rows`(_ text: String) throws {
        var reader = ImportReader(.ndjson, isCSV: false, ImportOptions(), limit: 2)
        if text.utf8.count < 6 {
            #expect(try (reader.read(Array(text.utf8)) + reader.finish()).count == 2)
        } else {
            #expect(throws: ImportFileFault.self) {
                _ = try reader.read(Array(text.utf8))
                _ = try reader.finish()
            }
        }
    }

    private static func domain(of file: String) -> String {
        let name = file.split(separator: ".")
        return "\(name[0] == "users" ? name[1] : name[0]).example"
    }

    @Test func `the people of a pool keep the sign-ins that the pool leads to`() throws {
        let rows = try Self.read(
            ImportFile.bytes("cognito.json"), .cognito, isCSV: false, pieces: 4096)
        func identity(_ row: Int) throws -> [String] {
            try rows[row].content.get().identities.map {
                "\($0.provider) \($0.issuer) \($0.subject)"
            }
        }
        #expect(try identity(0) == ["cognito eu-1_pool ann"])
        #expect(try identity(1) == ["google https://accounts.google.com 510"])
        #expect(try identity(2) == ["cognito eu-1_pool/azuread cid"])
    }

    @Test func `a line of ten megabytes is one row's fault`() throws {
        let long = String(repeating: "x", count: 10 << 20)
        let ndjson =
            "{\"email\":\"a@x.example\"}\n{\"email\":\"\(long)\"}\n{\"email\":\"b@x.example\"}\n"
        let csv = "email,name\na@x.example,A\nlong@x.example,\"\(long)\"\nb@x.example,B\n"
        let list =
            "[{\"email\":\"a@x.example\"},{\"name\":\"\(long)\"},{\"email\":\"b@x.example\"}]"
        for (text, isCSV) in [(ndjson, false), (csv, true), (list, false)] {
            let rows = try Self.read(
                Array(text.utf8), isCSV ? .csv : .ndjson, isCSV: isCSV, pieces: 65_536)
            #expect(rows.count == 3)
            #expect(throws: ImportFault.longRow) { try rows[1].content.get() }
            #expect(try rows[2].content.get().email.key == "b@x.example")
        }
    }

    @Test(arguments: [
        ("", ImportFormat.ndjson, false), ("", .csv, true), ("nonsense", .auth0, false),
        ("[{}", .ndjson, false), ("{\"users\":[{}]", .firebase, false), ("[]", .keycloak, false),
        ("email\na@b.example\n\"open", .csv, true), ("email,email\n", .csv, true),
        ("email,shoe\n", .csv, true), ("[{}] {}", .ndjson, false),
        ("\u{FEFF}[", .ndjson, false),
    ])
    func `a file that cannot be read to its end is refused whole`(
        _ text: String, _ format: ImportFormat, _ isCSV: Bool
    ) {
        #expect(throws: ImportFileFault.self) {
            try Self.read(Array(text.utf8), format, isCSV: isCSV, pieces: 3)
        }
    }

    @Test func `another encoding is named`() {
        let utf16: [UInt8] = [0xFF, 0xFE] + "email\n".utf8.flatMap { [$0, 0] }
        #expect {
            try Self.read(utf16, .csv, isCSV: true, pieces: 5)
        } throws: { error in
            (error as? ImportFileFault)?.detail.contains("UTF-16") == true
        }
    }

    @Test func `a mapping reads the file's own columns and no others`() throws {
        let text = "Nr,E-Mail,Plan\n7,a@b.example,team\n"
        var options = ImportOptions()
        options.mapping = [
            "email": "E-Mail", "external_id": "Nr", "public_attributes.plan": "Plan",
        ]
        let user = try Self.read(
            Array(text.utf8), .csv, isCSV: true, pieces: 4, options: options)[0].content.get()
        #expect(user.externalID == "7" && user.email.key == "a@b.example")
        #expect(user.publicAttributes == [.init("plan", .string("team"))])
        options.mapping?["name"] = "Name"
        #expect(throws: ImportFileFault.self) {
            try Self.read(Array(text.utf8), .csv, isCSV: true, pieces: 4, options: options)
        }
    }

    @Test func `Firebase's own columns are read without their names`() throws {
        let text =
            "f1,a@b.example,true,,,Ann,,g1,a@g.example,,,,,,,,,,,,,,,1612325106000,,,false,\n"
        let user = try Self.read(Array(text.utf8), .firebase, isCSV: true, pieces: 9)[0].content
            .get()
        #expect(user.externalID == "f1" && user.name == "Ann" && user.emailVerified)
        #expect(user.identities.map(\.subject) == ["g1"])
        #expect(user.createdAt?.description == "2021-02-03T04:05:06.000Z")
    }

    private static func read(
        _ bytes: [UInt8], _ format: ImportFormat, isCSV: Bool, pieces size: Int,
        issuer: String? = nil, options given: ImportOptions? = nil
    ) throws -> [StagedRow] {
        var options = given ?? ImportOptions()
        options.issuer = issuer
        options.firebase = try ImportFile.project()
        options.pool = Provider(
            id: UUID.random(), tenantID: nil, kind: .cognito, name: "pool", issuer: "eu-1_pool")
        var reader = ImportReader(format, isCSV: isCSV, options)
        var rows: [StagedRow] = []
        for start in stride(from: 0, to: bytes.count, by: max(size, 1)) {
            rows += try reader.read(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        return try rows + reader.finish()
    }
}
