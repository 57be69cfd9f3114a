import Cryptography
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Which of a person's attributes an app's token carries, and which an introspection tells.
@Suite(.cleansUp) struct CarriedAttributesTests {
    private func claims(_ fixture: TimeTrackerFixture) async throws -> (JSONValue, String) {
        let answer = try await fixture.signIn()
        let token = try #require(answer.json["access_token"]?.string)
        let jws = try #require(JWS(compact: Array(token.utf8)))
        return (try JSONValue(parsing: jws.payload), token)
    }

    @Test func `a token carries the public attributes that the schema marks, an introspection all`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        let (bare, _) = try await claims(fixture)
        #expect(bare["attributes"] == nil)
        let user = try #require(bare["sub"]?.string)
        for (path, json) in [
            (
                "users/\(user)",
                #"{"public_attributes":{"plan":"team","seat":7},"private_attributes":{"x":1}}"#
            ),
            ("attribute-schema", #"{"attributes":{"plan":{"in_token":true},"x":{}}}"#),
        ] {
            let answer = try await fixture.service.send(
                path == "attribute-schema" ? .put : .patch, "/v1/tenants/acme/\(path)", json: json,
                as: .platformOwner, fields: [Field("if-match", "*")])
            #expect(answer.status == 200, "\(answer.text)")
        }
        let (marked, token) = try await claims(fixture)
        #expect(marked["attributes"] == .object([.init("plan", .string("team"))]))
        let told = try await fixture.service.send(
            .post, "/oauth/introspect", json: "token=\(token)", as: .platformOwner,
            fields: [Field("content-type", "application/x-www-form-urlencoded")])
        #expect(
            told.json["attributes"]
                == .object([.init("plan", .string("team")), .init("seat", .int(7))]),
            "\(told.text)")
        #expect(!told.text.contains("\"x\""))
    }
}
