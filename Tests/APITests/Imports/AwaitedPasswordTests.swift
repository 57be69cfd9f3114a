import JSON
import Storage
import Testing

@testable import API

/// Who had a password in the former system that its export does not carry.
@Suite struct AwaitedPasswordTests {
    private static let hash = "$2b$10$abcdefghijklmnopqrstuuREtd3VJD2QVZbuFskFSLk6eRIrQoOS1"

    private func awaits(_ format: String, _ members: String) throws -> Bool {
        let fields = ImportFields(
            try JSONValue(
                parsing: Array(
                    #"{"email":"ann@a.example","primary_email_address":"ann@a.example",\#(members)}"#
                        .utf8)))
        let row =
            switch format {
            case "auth0": ImportedRow(auth0: fields, issuer: nil)
            case "clerk": ImportedRow(clerk: fields, issuer: nil)
            default: ImportedRow(firebase: fields, issuer: nil, project: nil)
            }
        return try row.user().awaitsPassword
    }

    @Test(arguments: [
        ("auth0", #""user_id":"auth0|1""#, true),
        ("auth0", #""user_id":"google-oauth2|1""#, false),
        ("auth0", #""user_id":"auth0|1","passwordHash":"\#(hash)""#, false),
        ("auth0", #""user_id":"auth0|1","passwordHash":"md5""#, true),
        ("clerk", #""password_enabled":true"#, true),
        ("clerk", #""password_enabled":false"#, false),
        ("clerk", #""password_enabled":true,"password_digest":"\#(hash)""#, false),
        ("firebase", #""providerUserInfo":[{"providerId":"password"}]"#, true),
        ("firebase", #""providerUserInfo":[{"providerId":"google.com","rawId":"1"}]"#, false),
    ])
    func `only a person who had a password and brings none waits for one`(
        _ format: String, _ members: String, _ expected: Bool
    ) throws {
        #expect(try awaits(format, members) == expected)
    }
}
