import Domain
import HTTP
import JSON
import Storage
import Text

/// Cognito's triggers, as a forwarder sends them and in the Lambda Invoke API.
enum CognitoEndpoints {
    static let all: [Endpoint] = [preSignup, postConfirmation, LambdaEndpoint.invoke]

    private static let preSignup = Endpoint(
        .post, "/v1/hooks/pre-signup/cognito", id: "preSignupCognito", tag: "Provisioning",
        summary: "The pre-signup event of a pool: the same event back, or 403 with a text that "
            + "is fit for the person.",
        access: .right(.signUpHook), body: .json(CognitoEvent.shape),
        answers: [
            .ok(CognitoEvent.shape),
            Answer(403, .problem(Reason.allCases.map { Code($0) })),
        ],
        problems: [.unavailable], hook: true, maxBody: 1 << 18
    ) { call in
        switch try await decide(CognitoEvent(document(call)), call) {
        case .allowed(let event): return .ok(event)
        case .refused(let text, let reason):
            return Problem(Code(reason), text, status: 403)
                .response(requestID: nil)
        }
    }

    private static let postConfirmation = Endpoint(
        .post, "/v1/hooks/post-confirmation/cognito", id: "postConfirmationCognito",
        tag: "Provisioning",
        summary: "Completes what a native sign-up reserved. Always answers the event.",
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
        let result = try await call.services.database.provision(attempt, by: call.hookActor) {
            $0.answerText
        }
        // A user who waits for approval has a row, but no sign-in.
        let waits = result.verdict.outcome == .created && result.user?.status == .pending
        guard result.verdict.outcome == .refused || waits else { return .allowed(event.allowed) }
        return .refused(
            PublicRefusal.text(reference: result.reference),
            result.verdict.reason ?? .approvalPending)
    }

    /// Only a confirmed sign-up decides; other triggers are echoed. A confirmation by an operator
    /// or a phone proves no mailbox: the reservation waits for a token that does.
    static func confirm(_ event: CognitoEvent, _ call: Call) async throws -> JSONValue {
        guard sameBytes(event.trigger, CognitoMapping.Trigger.confirmSignUp.rawValue),
            let attempt = event.call(for: call)
        else { return event.document }
        try await call.services.database.completeReservation(attempt, by: call.hookActor) {
            $0.answerText
        }
        return event.document
    }

    static func document(_ call: Call) throws -> JSONValue {
        do {
            return try JSONValue(parsing: call.request.body)
        } catch {
            throw Problem(.invalidRequest, "The body is not JSON: \(error).")
        }
    }
}
