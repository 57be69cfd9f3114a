import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

/// Each trigger of a pool, at the address that it is sent to and at the other one: what is answered,
/// what is recorded, and what is written. Nothing but these columns changes.
@Suite(.cleansUp) struct CognitoEventsTests {
    enum Trigger: String, Sendable {
        case signUp = "PreSignUp_SignUp"
        case adminCreate = "PreSignUp_AdminCreateUser"
        case external = "PreSignUp_ExternalProvider"
        case other = "PreSignUp_Other"
        case confirm = "PostConfirmation_ConfirmSignUp"
        case forgot = "PostConfirmation_ConfirmForgotPassword"
        case authenticated = "PostAuthentication_Authentication"
    }

    enum Answer: Sendable {
        /// The event with our three flags, or as it came.
        case allowed, echoed
        case refused
        /// 422: the trigger has nothing to do there.
        case wrongTrigger
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var trigger: Trigger
        var pool = ProvisioningFixture.pool
        var userName = "ann"
        var email = "stranger@else.example"
        var verified = "false"
        /// The sign-up came before and was reserved.
        var afterSignUp = false
        var path = "pre-signup"
        var answer: Answer
        /// The new decision's outcome and reason; nil: there is none.
        var decision: String?
        var reservations = 0
        var isIn = false

        var testDescription: String {
            "\(trigger) \(pool) \(userName) \(email) \(verified) \(afterSignUp) \(path)"
        }
    }

    private static let invited = "ann@ex.com"
    private static let confirmation = "post-confirmation"

    static let rows: [Row] = [
        // Native sign-ups.
        .init(trigger: .signUp, answer: .refused, decision: "refused no_tenant"),
        .init(
            trigger: .signUp, email: invited, answer: .allowed, decision: "reserved",
            reservations: 1),
        // It is not believed: nothing is proved yet.
        .init(
            trigger: .signUp, email: invited, verified: "true", answer: .allowed,
            decision: "reserved", reservations: 1),
        .init(
            trigger: .signUp, email: "bob@domain.example", answer: .allowed, decision: "reserved",
            reservations: 1),
        .init(
            trigger: .signUp, pool: "eu_allow", answer: .refused, decision: "refused no_tenant"),
        // U12: users made in the vendor's console.
        .init(trigger: .adminCreate, answer: .refused, decision: "refused no_tenant"),
        .init(
            trigger: .adminCreate, verified: "true", answer: .refused,
            decision: "refused no_tenant"),
        .init(
            trigger: .adminCreate, email: invited, verified: "true", answer: .allowed,
            decision: "reserved", reservations: 1),
        .init(trigger: .adminCreate, pool: "eu_allow", answer: .allowed, decision: "reserved"),
        .init(
            trigger: .adminCreate, pool: "eu_allow", email: "bad", answer: .refused,
            decision: "refused email_invalid"),
        // Upstreams.
        .init(
            trigger: .external, pool: "eu_strict", userName: "Okta_1", email: invited,
            verified: "true", answer: .allowed, decision: "linked", isIn: true),
        .init(
            trigger: .external, pool: "eu_strict", userName: "okta_1", email: invited,
            verified: "TRUE", answer: .allowed, decision: "linked", isIn: true),
        .init(
            trigger: .external, pool: "eu_strict", userName: "Acme_1", email: invited,
            verified: "true", answer: .refused, decision: "refused provider_unknown"),
        .init(
            trigger: .external, userName: "Acme_1", email: invited, verified: "true",
            answer: .allowed, decision: "linked", isIn: true),
        .init(
            trigger: .external, userName: "Acme_1", email: invited, verified: "yes",
            answer: .refused, decision: "refused email_unverified"),
        // Without an upstream in its name it has no owner, least of all a native user.
        .init(
            trigger: .external, userName: "ann", email: invited, verified: "true",
            answer: .refused, decision: "refused provider_unknown"),
        .init(
            trigger: .external, pool: "eu_strict", userName: "_1", email: invited,
            verified: "true", answer: .refused, decision: "refused provider_unknown"),
        .init(
            trigger: .external, pool: "eu_nobodys", userName: "Okta_1", email: invited,
            verified: "true", answer: .refused, decision: "refused provider_unknown"),
        // Confirmations.
        .init(
            trigger: .confirm, email: invited, verified: "true", afterSignUp: true,
            path: confirmation, answer: .echoed, decision: "linked", isIn: true),
        .init(
            trigger: .confirm, email: invited, verified: "false", afterSignUp: true,
            path: confirmation, answer: .echoed, reservations: 1),
        .init(
            trigger: .confirm, email: invited, verified: "1", afterSignUp: true,
            path: confirmation, answer: .echoed, reservations: 1),
        .init(
            trigger: .confirm, email: invited, verified: "true", path: confirmation,
            answer: .echoed),
        .init(
            trigger: .confirm, pool: "eu_nobodys", email: invited, verified: "true",
            afterSignUp: true, path: confirmation, answer: .echoed, reservations: 1),
        .init(
            trigger: .forgot, email: invited, verified: "true", afterSignUp: true,
            path: confirmation, answer: .echoed, reservations: 1),
        .init(
            trigger: .forgot, email: invited, verified: "true", path: confirmation,
            answer: .echoed),
        // What is not to be there.
        .init(
            trigger: .authenticated, email: invited, verified: "true", afterSignUp: true,
            path: confirmation, answer: .echoed, reservations: 1),
        .init(trigger: .signUp, email: invited, path: confirmation, answer: .echoed),
        .init(trigger: .adminCreate, email: invited, path: confirmation, answer: .echoed),
        .init(
            trigger: .external, userName: "Google_1", email: invited, verified: "true",
            path: confirmation, answer: .echoed),
        .init(trigger: .other, email: invited, answer: .wrongTrigger),
        .init(
            trigger: .confirm, email: invited, verified: "true", afterSignUp: true,
            answer: .wrongTrigger, reservations: 1),
        .init(
            trigger: .forgot, email: invited, verified: "true", answer: .wrongTrigger),
    ]

    private static func fixture() async throws -> ProvisioningFixture {
        let fixture = try await ProvisioningFixture.make(policy: #"{"sign_up":"domain"}"#)
        for (pool, more) in [
            ("eu_allow", #""admin_create":"allow""#),
            (
                "eu_strict",
                #""strict_upstreams":true,"upstreams":[{"name":"Okta","#
                    + #""email_trust":"verified_claim"}]"#
            ),
        ] {
            try await fixture.register(
                #"{"kind":"cognito","name":"\#(pool)","issuer":"\#(pool)",\#(more)}"#)
        }
        try await fixture.verifiedDomain("domain.example")
        return fixture
    }

    private static func event(_ row: Row, _ trigger: Trigger, verified: String) -> String {
        ProvisioningFixture.event(
            trigger.rawValue, userName: row.userName, email: row.email, verified: verified
        ).replacing(ProvisioningFixture.pool, with: row.pool)
    }

    private static func recorded(_ fixture: ProvisioningFixture) async throws -> [String] {
        let answer = try await fixture.service.send(
            .get, "/v1/provisioning/decisions", as: .platformOwner)
        return (answer.json["items"]?.array ?? []).map { decision in
            [decision["outcome"]?.string, decision["reason"]?.string].compactMap(\.self)
                .joined(separator: " ")
        }
    }

    @Test func `each trigger at each address is answered, recorded and written as the table says`()
        async throws
    {
        let fixture = try await Self.fixture()
        for (number, row) in Self.rows.enumerated() {
            // A person of their own for each row.
            var row = row
            let text = Comment(rawValue: "\(row.testDescription): row \(number)")
            row.userName += "\(number)"
            if row.email == Self.invited {
                row.email = "ann\(number)@ex.com"
                try await fixture.invite(row.email, role: "manager")
            }
            if row.afterSignUp {
                var signUp = row
                signUp.pool = ProvisioningFixture.pool
                let json = Self.event(signUp, .signUp, verified: "false")
                #expect(try await fixture.cognito(json).status == 200, text)
            }
            let before = try await Self.recorded(fixture).count
            let json = Self.event(row, row.trigger, verified: row.verified)
            for _ in 0..<2 {
                let answer = try await fixture.service.send(
                    .post, "/v1/hooks/\(row.path)/cognito", json: json, as: .platformOwner)
                try Self.expect(answer, row, json, text)
            }
            let after = try await Self.recorded(fixture)
            #expect(after.count - before == (row.decision == nil ? 0 : 1), text)
            if let decision = row.decision { #expect(after.first == decision, text) }
            #expect(
                try await fixture.count("reservations WHERE email_key = \(row.email)")
                    == row.reservations, text)
            let isIn = row.isIn ? 1 : 0
            #expect(
                try await fixture.count(
                    "users WHERE email_key = \(row.email) AND status = 'active'") == isIn, text)
            #expect(
                try await fixture.count(
                    "identities i JOIN users u USING (tenant_id) WHERE u.id = i.user_id "
                        + "AND u.email_key = \(row.email)") == isIn, text)
            #expect(
                try await fixture.count(
                    "invites WHERE email_key = \(row.email) AND status = 'accepted'") == isIn,
                text)
        }
    }

    private static func expect(
        _ answer: TestAnswer, _ row: Row, _ json: String, _ text: Comment
    ) throws {
        switch row.answer {
        case .allowed:
            #expect(answer.status == 200, text)
            for flag in ["autoConfirmUser", "autoVerifyEmail", "autoVerifyPhone"] {
                #expect(answer.json["response"]?[flag]?.bool == false, text)
            }
            #expect(answer.json["request"] == (try JSONValue(parsing: Array(json.utf8)))["request"])
        case .echoed: #expect(answer.status == 200 && answer.text == json, text)
        case .refused:
            #expect(answer.status == 403, text)
            let detail = answer.json["detail"]?.string ?? ""
            #expect(
                detail.hasPrefix("Sign-up is not available for this account."), "\(detail)")
        case .wrongTrigger:
            #expect(answer.status == 422, text)
            let pointer = answer.json["errors"]?.array?.first?["pointer"]?.string
            #expect(pointer == "/triggerSource", text)
        }
    }
}
