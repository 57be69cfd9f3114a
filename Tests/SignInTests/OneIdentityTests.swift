import HTTP
import JSON
import TestSupport
import Testing

/// One person with one Google account, who comes through every door that there is.
@Suite(.cleansUp) struct OneIdentityTests {
    @Test(arguments: Expected.allCases)
    func `one Google account is one identity of one user, whichever door is the first`(
        expected: Expected
    ) async throws {
        let fixture = try await OneIdentityFixture()
        for first in EntryPoint.allCases {
            let person = Somebody(expected: expected, name: "\(first)".lowercased())
            try await fixture.expect(person)
            let entryPoints = [first] + EntryPoint.allCases.filter { $0 != first } + [first]
            for (turn, entryPoint) in entryPoints.enumerated() {
                let answer = try await fixture.pass(person, entryPoint)
                let comment = Comment(rawValue: "\(first), \(entryPoint): \(answer.text)")
                #expect((200...201).contains(answer.status), comment)
                #expect(answer.first("x-amz-function-error") == nil, comment)
                // The workspace app's call takes up what waits; by a domain nothing does.
                if turn == 0, entryPoint == .thinkwork, expected == .domainMatched {
                    #expect(answer.json["outcome"]?.string == "not_linked", comment)
                    continue
                }
                // The very first door lets the person in; no later one makes up for it.
                let found = try await fixture.one(person)
                #expect(found.active == 1 && found.identities == 1, comment)
            }
            try await Self.expectOne(person, fixture)
        }
    }

    /// What may report one federated sign-in.
    private enum Event: CaseIterable {
        case cognitoHook, confirmation, preSignUpHook, token
    }

    private static func send(
        _ event: Event, _ person: Somebody, _ fixture: OneIdentityFixture
    ) async throws -> TestAnswer {
        switch event {
        case .cognitoHook: try await fixture.pass(person, .cognitoHook)
        case .preSignUpHook: try await fixture.pass(person, .preSignUpHook)
        case .token: try await fixture.pass(person, .poolToken)
        case .confirmation:
            // Cognito confirms federated users too, under the same name.
            try await fixture.service.send(
                .post, "/v1/hooks/post-confirmation/cognito",
                json: OneIdentityFixture.event(person, "PostConfirmation_ConfirmSignUp"),
                as: .platformOwner)
        }
    }

    @Test(arguments: Expected.allCases)
    func `the events of one sign-in, repeated and in every order, have one effect and one answer`(
        expected: Expected
    ) async throws {
        let fixture = try await OneIdentityFixture()
        for (number, order) in orders(of: Event.allCases).enumerated() {
            let person = Somebody(expected: expected, name: "person\(number)")
            try await fixture.expect(person)
            var user: JSONValue?
            var isIn = false
            for event in order + order {
                let first = try await Self.send(event, person, fixture)
                let again = try await Self.send(event, person, fixture)
                let comment = Comment(rawValue: "\(order) \(event): \(first.text)")
                #expect(first.status == 200 && again.status == 200, comment)
                switch event {
                case .cognitoHook:
                    // The same after any earlier call, and whatever that decided.
                    let sent = OneIdentityFixture.event(person).dropLast(#"{}}"#.utf8.count)
                    let flags =
                        #"{"autoConfirmUser":false,"autoVerifyEmail":false,"#
                        + #""autoVerifyPhone":false}}"#
                    #expect(first.text == sent + flags && again.text == first.text, comment)
                    isIn = true
                case .confirmation:
                    let sent = OneIdentityFixture.event(person, "PostConfirmation_ConfirmSignUp")
                    #expect(first.text == sent && again.text == sent, comment)
                case .preSignUpHook, .token:
                    let due = expected == .domainMatched ? "created" : "linked"
                    let outcome = first.json["outcome"]?.string
                    #expect(outcome == (isIn ? "existing" : due) || outcome == due, comment)
                    #expect(again.json["user"]?["id"] == first.json["user"]?["id"], comment)
                    #expect(user == nil || user == first.json["user"]?["id"], comment)
                    user = first.json["user"]?["id"]
                    isIn = true
                }
                #expect(try await fixture.one(person).active == (isIn ? 1 : 0), comment)
            }
            try await Self.expectOne(person, fixture)
        }
    }

    private static func expectOne(_ person: Somebody, _ fixture: OneIdentityFixture) async throws {
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users?q=\(person.email)", as: .platformOwner)
        let all = try #require(users.json["items"]?.array)
        #expect(all.count == 1, "\(users.text)")
        #expect(all.first?["role"]?.string == person.expected.role)
        let identities = try #require(all.first?["identities"]?.array)
        #expect(identities.count == 1, "\(users.text)")
        #expect(identities.first?["provider"]?.string == "google")
        #expect(identities.first?["issuer"]?.string == OneIdentityFixture.google)
        #expect(identities.first?["subject"]?.string == person.subject)
        let found = try await fixture.one(person)
        let accepted = person.expected == .invited ? 1 : 0
        #expect(found.accepted == accepted)
        #expect(found.audited == accepted)
    }
}
