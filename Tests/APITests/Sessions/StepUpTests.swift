import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// `POST /v1/session/step-up`: the same person proves within a session to be there.
@Suite(.cleansUp) struct StepUpTests {
    private static func tenant(
        _ fixture: OperatorFixture, as token: String
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, "/v1/operators",
            json:
                #"{"email":"\#(UUID.random())@a.example","role":"admin","delivery":"link","scope":{"platform":true}}"#,
            as: .session(token))
    }

    @Test func `the right password opens ten minutes, in a session with a new name`()
        async throws
    {
        let fixture = try await OperatorFixture.make()
        let old = try await fixture.signedIn()
        fixture.clock.advance(seconds: 601)
        let refused = try await Self.tenant(fixture, as: old)
        #expect(refused.json["code"]?.string == "step_up_required", "\(refused.text)")
        #expect(refused.json["methods"] == .array([.string("password")]), "\(refused.text)")
        let before = try await fixture.send(.get, "/v1/session", as: old)
        #expect(before.json["step_up_until"] == .null, "\(before.text)")
        #expect(before.json["methods"] == .array([.string("password")]))
        let done = try await fixture.stepUp(old, #"{"password":"\#(OperatorFixture.password)"}"#)
        #expect(done.status == 200, "\(done.text)")
        #expect(done.json["step_up_until"]?.string != nil, "\(done.text)")
        let new = try #require(OperatorFixture.cookie(of: done))
        #expect(new != old)
        #expect(try await fixture.send(.get, "/v1/session", as: old).status == 401)
        #expect(try await Self.tenant(fixture, as: new).status == 201)
        fixture.clock.advance(seconds: 599)
        #expect(try await Self.tenant(fixture, as: new).status == 201)
        fixture.clock.advance(seconds: 2)
        #expect(try await Self.tenant(fixture, as: new).status == 403)
        #expect(try await fixture.actions().contains("operator.stepped_up"))
    }

    @Test
    func `an operator who came by a link and set nothing up gets remedies without a sign-out`()
        async throws
    {
        let mail = ExternalServices.Mail(
            url: "smtp://127.0.0.1:1", from: try EmailAddress("gate@mail.example"))
        let cases: [(ExternalServices.Mail?, [String])] = [
            (nil, ["operator_reset"]), (mail, ["mail_link", "operator_reset"]),
        ]
        for (mail, late) in cases {
            let fixture = try await OperatorFixture.make(mail: mail)
            let created = try await fixture.service.send(
                .post, "/v1/operators",
                json:
                    #"{"email":"n@a.example","role":"admin","scope":{"platform":true},"delivery":"link"}"#,
                as: .platformOwner)
            let link = try #require(created.json["sign_in_url"]?.string?.split(separator: "=").last)
            let begun = try await fixture.service.send(
                .post, "/v1/session", json: #"{"token":"\#(link)"}"#)
            let all = (["set_up"] + late).map(JSONValue.string)
            #expect(begun.json["remedies"] == .array(all), "\(begun.text)")
            let session = try #require(OperatorFixture.cookie(of: begun))
            fixture.clock.advance(seconds: 601)
            let refused = try await fixture.service.send(
                .put, "/v1/me/password", json: #"{"password":"a sentence is a password"}"#,
                as: .session(session))
            #expect(refused.json["methods"] == .array([]))
            #expect(refused.json["remedies"] == .array(late.map(JSONValue.string)))
            #expect(!refused.text.contains("sign out"), "\(refused.text)")
            let overview = try await fixture.send(.get, "/v1/stats/overview", as: session)
            #expect(overview.text.contains("sign_in_unset"), "\(overview.text)")
            let mailed = try await fixture.send(.post, "/v1/session/link", as: session)
            #expect(mailed.status == (mail == nil ? 409 : 202), "\(mailed.text)")
            #expect(try await fixture.send(.get, "/v1/session", as: session).status == 200)
        }
        // Who has a password needs no link.
        let fixture = try await OperatorFixture.make(mail: mail)
        let own = try await fixture.signedIn()
        #expect(try await fixture.send(.post, "/v1/session/link", as: own).status == 409)
        let known = try await fixture.send(.get, "/v1/session", as: own)
        #expect(known.json["remedies"] == .array([]))
    }

    @Test func `a wrong password changes nothing, and is counted as at the sign-in`()
        async throws
    {
        let fixture = try await OperatorFixture.make()
        let session = try await fixture.signedIn()
        fixture.clock.advance(seconds: 601)
        for _ in 0..<5 {
            let wrong = try await fixture.stepUp(session, #"{"password":"wrong"}"#)
            #expect(wrong.status == 401, "\(wrong.text)")
            #expect(OperatorFixture.cookie(of: wrong) == nil)
        }
        let right = #"{"password":"\#(OperatorFixture.password)"}"#
        #expect(try await fixture.stepUp(session, right).status == 429)
        // The same counter.
        #expect(try await fixture.signIn().status == 429)
        #expect(try await fixture.send(.get, "/v1/session", as: session).status == 200)
        #expect(try await Self.tenant(fixture, as: session).status == 403)
    }

    @Test func `of two step-ups at once, one gets the session and the other none`() async throws {
        let fixture = try await OperatorFixture.make()
        let session = try await fixture.signedIn()
        let right = #"{"password":"\#(OperatorFixture.password)"}"#
        let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
            for _ in 0..<4 { group.addTask { try await fixture.stepUp(session, right) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0.status == 200 } == 1, "\(answers.map(\.status))")
        #expect(answers.allSatisfy { [200, 401, 429].contains($0.status) })
        let rows = try await fixture.service.storage.app.query(
            "SELECT count(*) FROM operator_sessions")
        #expect(try rows[0].get(0, as: Int.self) == 1)
    }

    @Test func `a step-up needs the console's header, its session and one proof`() async throws {
        let fixture = try await OperatorFixture.make()
        let session = try await fixture.signedIn()
        let right = #"{"password":"\#(OperatorFixture.password)"}"#
        let foreign = try await fixture.service.send(
            .post, "/v1/session/step-up", json: right,
            fields: [
                Field("cookie", "gatehouse=\(session)"), Field("sec-fetch-site", "same-origin"),
            ])
        #expect(foreign.status == 403, "\(foreign.text)")
        #expect(try await fixture.stepUp(session, "{}").status == 422)
        let key = try await fixture.service.manage(
            .post, "/v1/api-keys", #"{"name":"k","scopes":[]}"#)
        let byKey = try await fixture.service.send(
            .post, "/v1/session/step-up", json: right,
            as: .bearer(try #require(key["key"]?.string)))
        #expect(byKey.status == 403, "\(byKey.text)")
        #expect(
            try await fixture.service.send(.post, "/v1/session/step-up", json: right).status == 401)
    }
}
