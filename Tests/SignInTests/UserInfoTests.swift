import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing
import Text

/// What a provider's userinfo endpoint adds to an id token.
@Suite(.cleansUp) struct UserInfoTests {
    private struct Case {
        /// Members of the id token beside its subject; nil leaves one out.
        var claims: [String: String?] = ["email": nil, "email_verified": nil]
        var subject: String?
        /// `@` stands for the address, `$` for the subject's text.
        var info: String
        var status = 200
        var isIn: Bool
    }

    private static let own = #"{"sub":"$","email":"@","email_verified":"#

    private static let flags: [(String, Bool)] = [
        ("true", true), (#""true""#, true), (#""True""#, true), (#""TRUE""#, true),
        ("false", false), (#""false""#, false), ("1", false), ("null", false), (#""yes""#, false),
        ("[true]", false),
    ]

    private static let others: [Case] = [
        Case(info: #"{"sub":"$","email":"@"}"#, isIn: false),
        Case(info: #"{"sub":"another","email":"@","email_verified":true}"#, isIn: false),
        Case(info: "no JSON", isIn: false), Case(info: "{}", status: 403, isIn: false),
        Case(info: "{}", status: 500, isIn: false),
        // The id token's own address, whose claim is missing, or says no.
        Case(claims: ["email_verified": nil], info: UserInfoTests.own + "true}", isIn: true),
        Case(
            claims: ["email_verified": "null"],
            info: #"{"error":null,"sub":"$","email":"@","email_verified":true}"#, isIn: true),
        Case(
            claims: ["email_verified": nil],
            info: #"{"sub":"$","email":"x@else.example","email_verified":true}"#, isIn: false),
        Case(
            claims: ["email_verified": nil], info: #"{"sub":"$","email_verified":true}"#,
            isIn: false),
        Case(claims: ["email_verified": "false"], info: UserInfoTests.own + "true}", isIn: false),
        // A numeric subject.
        Case(subject: "35", info: #"{"sub":35,"email":"@","email_verified":true}"#, isIn: true),
        Case(
            subject: "9007199254740992",
            info: #"{"sub":9007199254740992,"email":"@","email_verified":true}"#, isIn: true),
        Case(
            subject: "9007199254740993",
            info: #"{"sub":9007199254740993,"email":"@","email_verified":true}"#, isIn: false),
        Case(subject: "37", info: #"{"sub":36,"email":"@","email_verified":true}"#, isIn: false),
        Case(subject: "-35", info: #"{"sub":-35,"email":"@","email_verified":true}"#, isIn: false),
        Case(
            subject: "35.0", info: #"{"sub":35.0,"email":"@","email_verified":true}"#, isIn: false),
        Case(
            subject: "35e0", info: #"{"sub":35e0,"email":"@","email_verified":true}"#, isIn: false),
    ]

    private func signIn(
        _ fixture: TimeTrackerFixture, _ one: Case, as subject: String, _ email: String
    ) async throws -> TestAnswer {
        let asked = try await fixture.begin()
        var claims = one.claims
        claims["nonce"] = "\"\(asked.first("nonce") ?? "")\""
        claims["sub"] = "\"\(subject)\""
        if !claims.keys.contains("email") { claims["email"] = "\"\(email)\"" }
        let token = fixture.provider.mint(clientID: "web", now: Timestamp.systemClock()).token(
            claims)
        fixture.provider.set("/token", .init(#"{"id_token":"\#(token)","access_token":"a"}"#))
        let info = one.info.replacing("\"$\"", with: "\"\(subject)\"")
            .replacing("\"@\"", with: "\"\(email)\"")
        fixture.provider.set("/userinfo", .init(status: one.status, info))
        return try await fixture.exchange(asked.first("state") ?? "")
    }

    @Test func `userinfo vouches for the address as an id token does, for the same person alone`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        let issuer = fixture.provider.issuer
        fixture.provider.set(
            TestProvider.discoveryPath,
            .init(
                #"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/keys","#
                    + #""authorization_endpoint":"\#(issuer)/authorize","#
                    + #""token_endpoint":"\#(issuer)/token","userinfo_endpoint":"\#(issuer)/userinfo"}"#
            ))
        let flags = Self.flags.map { Case(info: Self.own + $0.0 + "}", isIn: $0.1) }
        for (number, one) in (flags + Self.others).enumerated() {
            let email = "p\(number)@acme.example"
            try await fixture.invite(email)
            let subject = one.subject ?? "person-\(number)"
            let answer = try await signIn(fixture, one, as: subject, email)
            #expect(answer.status == (one.isIn ? 200 : 403), "\(one) \(answer.text)")
        }
        // Who is known comes in, whatever becomes of the second question.
        for status in [200, 403, 404, 500] {
            let again = try await signIn(
                fixture, Case(info: "no", status: status, isIn: true), as: "person-0",
                "p0@acme.example")
            #expect(again.status == 200, "\(status) \(again.text)")
        }
        let list = try await fixture.service.send(
            .get, "/v1/provisioning/decisions?reason=email_missing&limit=1", as: .platformOwner)
        let id = list.json["items"]?.array?.first?["id"]?.string ?? ""
        let one = try await fixture.service.send(
            .get, "/v1/provisioning/decisions/\(id)", as: .platformOwner)
        #expect(one.text.contains("userinfo: subject_mismatch"), "\(one.text)")
    }
}
