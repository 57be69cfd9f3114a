import HTTP
import JSON
import TestSupport
import Testing

/// A user of the pool's own: nobody has proved the address when they sign up.
struct NativeUserTests {
    private enum Event: CaseIterable {
        case signUp, confirmation, token
    }

    private static func send(
        _ event: Event, _ person: Somebody, _ scene: OneIdentityScene
    ) async throws -> TestAnswer {
        switch event {
        case .signUp:
            try await hook(
                "pre-signup",
                OneIdentityScene.event(
                    person, "PreSignUp_SignUp", isNative: true, isVerified: false), scene)
        case .confirmation:
            try await hook("post-confirmation", confirmation(person), scene)
        case .token:
            try await signIn(scene.nativeToken(person, userName: person.name), scene)
        }
    }

    private static func hook(
        _ name: String, _ json: String, _ scene: OneIdentityScene
    ) async throws -> TestAnswer {
        try await scene.service.send(
            .post, "/v1/hooks/\(name)/cognito", json: json, as: .platformOwner)
    }

    private static func signIn(
        _ token: String, _ scene: OneIdentityScene, _ json: String = "{}"
    ) async throws -> TestAnswer {
        try await scene.service.send(
            .post, "/v1/provisioning/sign-in", json: json, as: .bearer(token))
    }

    private static func confirmation(_ person: Somebody, isVerified: Bool = true) -> String {
        OneIdentityScene.event(
            person, "PostConfirmation_ConfirmSignUp", isNative: true, isVerified: isVerified)
    }

    @Test(arguments: Expected.allCases)
    func `sign-up, confirmation and first token in every order, each twice, are one user`(
        expected: Expected
    ) async throws {
        let scene = try await OneIdentityScene()
        for (number, order) in orders(of: Event.allCases).enumerated() {
            let person = Somebody(expected: expected, name: "native\(number)")
            try await scene.expect(person)
            for event in order + order {
                let first = try await Self.send(event, person, scene)
                let again = try await Self.send(event, person, scene)
                let comment = Comment(rawValue: "\(order) \(event): \(first.text)")
                #expect(first.status == 200, comment)
                switch event {
                case .signUp:
                    // Whether anything is known of the person already is not to be seen.
                    let event = OneIdentityScene.event(
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
            let found = try await scene.one(person)
            let accepted = expected == .invited ? 1 : 0
            #expect(found.active == 1 && found.identities == 1, "\(order)")
            #expect(found.accepted == accepted && found.audited == accepted, "\(order)")
        }
        await scene.stop()
    }
}
