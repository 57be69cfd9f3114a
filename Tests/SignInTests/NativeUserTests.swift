import HTTP
import JSON
import Postgres
import TestSupport
import Testing

/// A user of the pool's own: the address is unproved when they sign up.
@Suite(.cleansUp) struct NativeUserTests {
    private enum Event: CaseIterable {
        case signUp, confirmation, token
    }

    private static func send(
        _ event: Event, _ person: Somebody, _ fixture: OneIdentityFixture
    ) async throws -> TestAnswer {
        switch event {
        case .signUp:
            try await hook(
                "pre-signup",
                OneIdentityFixture.event(
                    person, "PreSignUp_SignUp", isNative: true, isVerified: false), fixture)
        case .confirmation:
            try await hook("post-confirmation", confirmation(person), fixture)
        case .token:
            try await signIn(fixture.nativeToken(person, userName: person.name), fixture)
        }
    }

    private static func hook(
        _ name: String, _ json: String, _ fixture: OneIdentityFixture
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, "/v1/hooks/\(name)/cognito", json: json, as: .platformOwner)
    }

    private static func signIn(
        _ token: String, _ fixture: OneIdentityFixture, _ json: String = "{}"
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, "/v1/provisioning/sign-in", json: json, as: .bearer(token))
    }

    private static func confirmation(_ person: Somebody, isVerified: Bool = true) -> String {
        OneIdentityFixture.event(
            person, "PostConfirmation_ConfirmSignUp", isNative: true, isVerified: isVerified)
    }

    @Test(arguments: Expected.allCases)
    func `sign-up, confirmation and first token in every order, each twice, are one user`(
        expected: Expected
    ) async throws {
        let fixture = try await OneIdentityFixture()
        for (number, order) in orders(of: Event.allCases).enumerated() {
            let person = Somebody(expected: expected, name: "native\(number)")
            try await fixture.expect(person)
            for event in order + order {
                let first = try await Self.send(event, person, fixture)
                let again = try await Self.send(event, person, fixture)
                let comment = Comment(rawValue: "\(order) \(event): \(first.text)")
                #expect(first.status == 200, comment)
                switch event {
                case .signUp:
                    // Whether anything is known of the person already is not to be seen.
                    let event = OneIdentityFixture.event(
                        person, "PreSignUp_SignUp", isNative: true, isVerified: false)
                    let flags =
                        ["Confirm"].map { #""auto\#($0)User":false"# }
                        + ["Email", "Phone"].map { #""autoVerify\#($0)":false"# }
                    let due = event.replacing(
                        #""response":{}"#,
                        with: #""response":{\#(flags.joined(separator: ","))}"#)
                    #expect(first.text == due && again.text == due, comment)
                case .confirmation:
                    let event = Self.confirmation(person)
                    #expect(first.text == event && again.text == event, comment)
                case .token:
                    let outcome = first.json["outcome"]?.string ?? ""
                    #expect(["linked", "created", "existing"].contains(outcome), comment)
                    #expect(first.json["user"]?["email"]?.string == person.email, comment)
                    #expect(again.json["user"]?["id"] == first.json["user"]?["id"], comment)
                }
            }
            let found = try await fixture.one(person)
            let accepted = expected == .invited ? 1 : 0
            #expect(found.active == 1 && found.identities == 1, "\(order)")
            #expect(found.accepted == accepted && found.audited == accepted, "\(order)")
        }
    }

    @Test func `U13 a user name that equals another's sub is not that person`() async throws {
        let fixture = try await OneIdentityFixture()
        let ann = Somebody(expected: .invited, name: "ann")
        try await fixture.expect(ann)
        for event in Event.allCases { _ = try await Self.send(event, ann, fixture) }
        let found = try await fixture.one(ann)
        #expect(found.active == 1 && found.identities == 1)
        // The name is the person's choice; `sub` is the pool's word.
        let eve = Somebody(expected: .domainMatched, name: "6f9c1d0e-ann")
        let token = fixture.nativeToken(eve, userName: eve.name, sub: "eve-1")
        let answer = try await Self.signIn(token, fixture, #"{"tenant":"acme"}"#)
        #expect(answer.json["user"]?["email"]?.string == eve.email, "\(answer.text)")
        #expect(try await fixture.one(ann).identities == 1)
        // Ann still is who she is, by her name and by her `sub` alone.
        for userName in [ann.name, nil] {
            let token = fixture.nativeToken(ann, userName: userName)
            let back = try await Self.signIn(token, fixture)
            #expect(back.json["user"]?["email"]?.string == ann.email, "\(back.text)")
            #expect(back.json["outcome"]?.string == "existing", "\(back.text)")
        }
    }

    @Test func `an unproved confirmation binds the sub alone, and a proof under it completes`()
        async throws
    {
        let fixture = try await OneIdentityFixture()
        let ann = Somebody(expected: .invited, name: "ann")
        try await fixture.expect(ann)
        _ = try await Self.send(.signUp, ann, fixture)
        // A phone, or an operator, confirmed the user: the mailbox is unproved.
        let event = Self.confirmation(ann, isVerified: false)
        for _ in 0..<2 {
            #expect(try await Self.hook("post-confirmation", event, fixture).text == event)
        }
        let unproved = fixture.nativeToken(ann, userName: nil, isVerified: false)
        let refused = try await Self.signIn(unproved, fixture)
        #expect(refused.json["reason"]?.string == "email_unverified", "\(refused.text)")
        var found = try await fixture.one(ann)
        #expect(found.active == 0 && found.identities == 0 && found.accepted == 0)
        #expect(try await fixture.count("reservations") == 1)
        let proved = fixture.nativeToken(ann, userName: nil)
        let answer = try await Self.signIn(proved, fixture)
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        found = try await fixture.one(ann)
        #expect(found.active == 1 && found.identities == 1 && found.accepted == 1)
        #expect(try await fixture.count("reservations") == 0)
        // It is the identity that the pool's events name by its user name.
        let known = try await Self.send(.token, ann, fixture)
        #expect(known.json["outcome"]?.string == "existing", "\(known.text)")
        #expect(known.json["identity_id"] == answer.json["identity_id"])
    }

    @Test func `U12 a user made in the vendor's console is in with the first token`() async throws {
        let fixture = try await OneIdentityFixture()
        for (number, expected) in Expected.allCases.enumerated() {
            let person = Somebody(expected: expected, name: "made\(number)")
            try await fixture.expect(person)
            let event = OneIdentityFixture.event(
                person, "PreSignUp_AdminCreateUser", isNative: true)
            #expect(try await Self.hook("pre-signup", event, fixture).status == 200)
            #expect(try await fixture.one(person).active == 0)
            let token = try await Self.send(.token, person, fixture)
            #expect(token.json["user"]?["role"]?.string == expected.role, "\(token.text)")
            let found = try await fixture.one(person)
            #expect(found.active == 1 && found.identities == 1)
            #expect(found.accepted == (expected == .invited ? 1 : 0))
        }
        #expect(try await fixture.count("reservations") == 0)
    }

    @Test func `the first known one of a pool's linked sign-ins is the person`()
        async throws
    {
        let fixture = try await OneIdentityFixture()
        let ann = Somebody(expected: .invited, name: "ann")
        try await fixture.expect(ann)
        let first = try await fixture.pass(ann, .token)
        #expect(first.json["outcome"]?.string == "linked", "\(first.text)")
        let names = [("Okta", "77"), ("Google", ann.subject)].map {
            #"{"providerName":"\#($0)","userId":"\#($1)"}"#
        }
        for order in orders(of: names) {
            let answer = try await Self.signIn(
                fixture.nativeToken(ann, userName: "Okta_77", identities: order), fixture)
            #expect(answer.json["outcome"]?.string == "existing", "\(answer.text)")
            #expect(answer.json["identity_id"] == first.json["identity_id"])
        }
        // None is known: it is the first.
        let bob = Somebody(expected: .domainMatched, name: "bob")
        let answer = try await Self.signIn(
            fixture.nativeToken(
                bob, userName: "Okta_78",
                identities: [
                    #"{"providerName":"Okta","userId":"78"}"#,
                    #"{"providerName":"Google","userId":"79"}"#,
                ]), fixture)
        #expect(answer.json["outcome"]?.string == "created", "\(answer.text)")
        let identity = answer.json["user"]?["identities"]?.array?.first
        #expect(identity?["subject"]?.string == "78", "\(answer.text)")
        #expect(identity?["issuer"]?.string?.hasSuffix("/okta") == true, "\(answer.text)")
    }
}
