import Domain
import HTTP
import JSON
import Storage
import Text

/// The endpoints for Cognito's triggers. They accept the events as a forwarder sends them, and in
/// the form of the Lambda Invoke API.
package enum CognitoEndpoints {
    package static let all: [Endpoint] = [preSignup, postConfirmation, LambdaEndpoint.invoke]

    private static let preSignup = Endpoint(
        .post, "/v1/hooks/pre-signup/cognito", id: "preSignupCognito", tag: "Provisioning",
        summary: "Handles the pre-signup event of a Cognito pool. Returns the event, or 403 "
            + "with a text that can be shown to the person.",
        access: .right(.signUpHook), body: .json(CognitoEvent.shape),
        answers: [
            .ok(CognitoEvent.shape),
            Answer(403, .problem(Reason.allCases.map(Code.reason))),
        ],
        problems: [.unavailable], hook: true, maxBody: 1 << 18
    ) { call in
        switch try await decide(CognitoEvent(document(call)), call) {
        case .allowed(let event): return .ok(event)
        case .refused(let text, let reason):
            return Problem(.reason(reason), text, status: 403)
                .response(requestID: nil)
        }
    }

    private static let postConfirmation = Endpoint(
        .post, "/v1/hooks/post-confirmation/cognito", id: "postConfirmationCognito",
        tag: "Provisioning",
        summary:
            "Handles the post-confirmation event of a Cognito pool. Completes the sign-up that the "
            + "pre-signup event reserved, if the pool has verified the email address. Returns the "
            + "event even if the rules refuse the person.",
        access: .right(.signUpHook), body: .json(CognitoEvent.shape),
        answers: [.ok(CognitoEvent.shape)], problems: [.unavailable], hook: true,
        maxBody: 1 << 18
    ) { call in
        .ok(try await confirm(CognitoEvent(document(call)), call))
    }

    enum Decided {
        case allowed(JSONValue)
        case refused(String, Reason)
    }

    static func decide(_ event: CognitoEvent, _ call: Call) async throws -> Decided {
        guard event.trigger.hasPrefix("PreSignUp_"),
            let attempt = event.call(for: call)
        else {
            throw Problem.invalid([
                FieldError("/triggerSource", .notAllowed, "must be a PreSignUp trigger")
            ])
        }
        let result = try await call.database.provision(attempt, by: call.hookActor) {
            $0.answerText
        }
        // A user who waits for approval is stored, but may not sign in yet, so the event is
        // refused.
        let waits = result.verdict.outcome == .created && result.user?.status == .pending
        guard result.verdict.outcome == .refused || waits else { return .allowed(event.allowed) }
        return .refused(
            PublicRefusal.text(reference: result.reference),
            result.verdict.reason ?? .approvalPending)
    }

    /// Completes the sign-up that the event confirms, and returns the event unchanged. Does nothing
    /// for other triggers. If an operator or a phone number confirmed the sign-up, the mailbox is
    /// not verified. The reservation then remains until a token verifies the mailbox.
    static func confirm(_ event: CognitoEvent, _ call: Call) async throws -> JSONValue {
        guard sameBytes(event.trigger, CognitoMapping.Trigger.confirmSignUp.rawValue),
            let attempt = event.call(for: call)
        else { return event.document }
        try await call.database.completeReservation(attempt, by: call.hookActor) {
            $0.answerText
        }
        return event.document
    }

    static func document(_ call: Call) throws -> JSONValue {
        do {
            return try JSONValue(parsing: call.request.body)
        } catch {
            throw Problem(.invalidRequest, "The body cannot be read as JSON: \(error).")
        }
    }
}

/// An event of a Cognito trigger. The JSON is kept, since it is returned in the response; a few of
/// its members are read.
struct CognitoEvent: Sendable {
    var document: JSONValue
    var trigger: String
    var pool: String
    var userName: String

    static let shape = ObjectShape(
        "CognitoEvent", open: true,
        [
            .required(
                "triggerSource", .string(min: 1, max: 255),
                "The trigger that sent the event. The pre-signup hook requires a trigger that "
                    + "begins with `PreSignUp_`; the post-confirmation hook acts only on "
                    + "`PostConfirmation_ConfirmSignUp`."),
            .required(
                "userPoolId", .string(min: 1, max: 255),
                "The id of the Cognito pool that sent the event."),
            .required(
                "userName", .string(min: 1, max: 1024),
                "The person's user name in the pool. For `PreSignUp_ExternalProvider`, it is the "
                    + "external provider's name, `_` and the person's identifier there."),
            .required(
                "request", .object(ObjectShape(open: true)),
                "The event's `request`, as Cognito sends it. `userAttributes` has the person's "
                    + "address and name; `clientMetadata` can have the requested `tenant`, an "
                    + "`invite_token`, a `join_token` or a `link_grant`."),
            .nullable(
                "callerContext", .object(ObjectShape(open: true)),
                "The event's `callerContext`, as Cognito sends it. Its `clientId` is the app "
                    + "client that the person signs up at."),
            .nullable(
                "response", .any,
                "The event's `response`, as Cognito sends it. In the answer to a pre-signup event, "
                    + "`autoConfirmUser`, `autoVerifyEmail` and `autoVerifyPhone` are false."),
        ])

    /// Reads an event. Throws 422 with every error, as for other bodies.
    init(_ document: JSONValue) throws {
        var decoder = Decoder(allowsReadOnly: false)
        let input = decoder.object(document, Self.shape, at: "")
        if !decoder.errors.isEmpty { throw Problem.invalid(decoder.errors) }
        self.document = document
        trigger = try input.string("triggerSource")
        pool = try input.string("userPoolId")
        userName = try input.string("userName")
    }

    private var attributes: JSONValue { document["request"]?["userAttributes"] ?? .null }

    /// The value of a user attribute; `nil` if it is absent or not a string.
    func attribute(_ name: String) -> String? { attributes[name]?.string }

    private var emailVerified: Bool? {
        switch attributes["email_verified"] {
        case nil: CognitoMapping.emailVerified(.absent)
        case .string(let text): CognitoMapping.emailVerified(.text(text))
        case .bool(let value): CognitoMapping.emailVerified(.bool(value))
        default: CognitoMapping.emailVerified(.other)
        }
    }

    /// The attempt that the event describes; `nil` for a trigger that needs no decision.
    func call(for request: Call) -> ProvisioningCall? {
        guard let source = CognitoMapping.Trigger(rawValue: trigger) else { return nil }
        let kind: Attempt.Trigger =
            switch source {
            case .signUp: .nativeSignUp
            case .adminCreateUser: .nativeAdminCreate
            case .externalProvider: .federated
            case .confirmSignUp: .nativeProved
            }
        var call = ProvisioningCall(
            provider: .pool(pool, source, userName: userName), trigger: kind)
        call.email = attribute("email")
        call.emailVerified = emailVerified
        call.name = attribute("name")
        call.clientID = document["callerContext"]?["clientId"]?.string
        call.caller = request.callerTenant
        call.onlyProvider = request.principal.provider
        // Tokens identify a user of the pool itself by the user's `sub`. It is read from this
        // event, since the earlier sign-up event does not contain it.
        if kind == .nativeProved {
            call.alias = attribute("sub").map { PoolAlias(pool: pool, sub: $0) }
        }
        if source != .confirmSignUp { call.joinToken = passed("join_token") }
        if kind.isUnprovedNative {
            let metadata = document["request"]?["clientMetadata"]
            call.tenant = metadata?["tenant"]?.string
            call.tenantSource = .metadata
            call.linkGrant =
                metadata?["link_grant"]?.string
                ?? document["request"]?["validationData"]?["link_grant"]?.string
            call.inviteToken = passed("invite_token")
        }
        return call
    }

    /// The value that the app passed to the sign-up under this name.
    private func passed(_ name: String) -> String? {
        let request = document["request"]
        return request?["validationData"]?[name]?.string
            ?? request?["clientMetadata"]?[name]?.string
    }

    /// The event with its three response flags set to false, so that this server decides them, and
    /// otherwise unchanged.
    var allowed: JSONValue {
        var members = document.members ?? []
        var response = (document["response"]?.members ?? []).filter { member in
            !Self.flags.contains { sameBytes($0, member.name) }
        }
        response += Self.flags.map { JSONValue.Member($0, .bool(false)) }
        if let at = members.firstIndex(where: { sameBytes($0.name, "response") }) {
            members[at].value = .object(response)
        } else {
            members.append(.init("response", .object(response)))
        }
        return .object(members)
    }

    private static let flags = ["autoConfirmUser", "autoVerifyEmail", "autoVerifyPhone"]
}
