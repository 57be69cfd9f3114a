import Domain
import HTTP
import JSON
import Storage
import Text

/// The generic hook and its dry run. The status is 200 for every decision, even if it is a refusal.
package enum HookEndpoints {
    package static let all: [Endpoint] = [preSignup, evaluate]

    private static let preSignup = Endpoint(
        .post, "/v1/hooks/pre-signup", id: "preSignup", tag: "Provisioning",
        summary: "Decides at a sign-up who a person is and which tenant the person belongs to, and "
            + "provisions the user. A refusal is answered with 200, too: branch on `outcome`.",
        access: .right(.signUpHook), body: .json(AttemptShape.shape),
        answers: [
            .ok(ProvisioningResult.shape).showing([
                "outcome": .string("created"),
                "decision_id": .string("01a22d31-19f4-714f-8999-9860fcc4e91b"),
                "reference": .string("MXyIhc"), "trace": nil, "policy_version": nil,
            ])
        ], problems: [.unavailable], hook: true,
        maxBody: 1 << 18
    ) { call in
        let result = try await call.database.provision(
            AttemptShape.call(call), by: call.hookActor
        ) { $0.answerText }
        return .json(bytes: Array(result.answer.utf8))
    }

    private static let evaluate = Endpoint(
        .post, "/v1/provisioning/evaluate", id: "evaluateProvisioning", tag: "Provisioning",
        summary: "Returns the decision that an attempt to sign in or join would get now, with the "
            + "rules that were applied. Nothing is stored or changed.",
        access: .right(.evaluate), body: .json(AttemptShape.shape),
        answers: [.ok(ProvisioningResult.shape)], problems: [.rateLimited], maxBody: 1 << 18
    ) { call in
        try await call.takeDryRuns()
        let result = try await call.database.provision(
            AttemptShape.call(call), dryRun: true, by: call.actor
        ) { _ in "" }
        let trace = try await call.database.shown(
            result.verdict.traceDocument, to: call.callerTenant)
        return .ok(result.json(trace: trace))
    }
}

extension Call {
    /// The actor that the audit log shows for a change by a hook: the hook's credential.
    var hookActor: Actor {
        var actor = actor
        actor.type = "hook"
        return actor
    }
}

/// The endpoint for both triggers in the form of the Lambda Invoke API (AWS Lambda API reference,
/// Invoke).
enum LambdaEndpoint {
    /// The values of `X-Amz-Invocation-Type`.
    private enum Invocation: String, CaseIterable {
        case requestResponse = "RequestResponse"
        /// The caller does not wait for a result. The event is processed before the 202 response,
        /// so that no acknowledged event is lost.
        case event = "Event"
        /// The endpoint only checks whether the caller has the permission, and responds with 204.
        case dryRun = "DryRun"
    }

    static let invoke = Endpoint(
        .post, "\(LambdaCaller.prefix){name}/invocations", id: "invokeFunction",
        tag: "Provisioning",
        summary:
            "Handles the triggers of a Cognito pool in the form of the Lambda Invoke API. `name` "
            + "is `pre-signup` or `post-confirmation`. The header field `X-Amz-Invocation-Type` "
            + "is `RequestResponse`, `Event` (the response is 202) or `DryRun` (204).",
        access: .right(.signUpHook),
        query: [
            QueryParameter(
                "Qualifier", .string(min: 1, max: 128),
                "A version or an alias of the function. It is ignored.")
        ],
        body: .raw([.object("*/*", CognitoEvent.shape, documentedAs: "application/json")]),
        answers: [
            .ok(CognitoEvent.shape.or(whenHas: "errorMessage", functionError)),
            Answer(202, summary: "The event of an invocation of type `Event` was handled."),
            Answer(204, summary: "For the type `DryRun`: the caller may invoke the function."),
        ],
        problems: [.unavailable], hook: true,
        maxBody: 1 << 18
    ) { call in
        let name = try call.parameter("name")
        let function = name.split(separator: ":").last.map(String.init) ?? name
        let isPreSignup = sameBytes(function, "pre-signup")
        guard isPreSignup || sameBytes(function, "post-confirmation") else {
            throw Problem.notFound("function")
        }
        let invocation = try invocation(call.request)
        if invocation == .dryRun { return Response(204) }
        let event = try CognitoEvent(CognitoEndpoints.document(call))
        var response: Response
        if isPreSignup {
            switch try await CognitoEndpoints.decide(event, call) {
            case .allowed(let event): response = .ok(event)
            case .refused(let text, _):
                response = .ok(
                    .object([
                        .init("errorMessage", .string(text)),
                        .init("errorType", .string("SignUpRefused")),
                    ]))
                response.set("x-amz-function-error", "Unhandled")
            }
        } else {
            response = .ok(try await CognitoEndpoints.confirm(event, call))
        }
        // The caller does not want the result of an Event, but its decision is recorded like any
        // other.
        if invocation == .event { response = Response(202) }
        response.set("x-amz-executed-version", "$LATEST")
        return response
    }

    /// The body that the Lambda runtime returns when a function throws.
    private static let functionError = ObjectShape(
        "FunctionError",
        [
            .readOnly(
                "errorMessage", .string(),
                "A text that can be shown to the person whose sign-up was refused."),
            .readOnly("errorType", .string(), "Always `SignUpRefused`."),
        ])

    private static func invocation(_ request: Request) throws -> Invocation {
        guard let name = request.first("x-amz-invocation-type") else { return .requestResponse }
        guard let known = Invocation.allCases.first(where: { sameBytes($0.rawValue, name) }) else {
            throw Problem(
                .invalidRequest,
                "X-Amz-Invocation-Type must be RequestResponse, Event or DryRun.")
        }
        return known
    }

    /// The response for a refusal on this endpoint's path, in the form that AWS clients read: with
    /// the member `Message`, and the type in `x-amzn-errortype`. `nil` for other paths.
    static func encode(_ problem: Problem, _ request: Request) -> Response? {
        guard request.path.utf8.starts(with: LambdaCaller.prefix.utf8) else { return nil }
        var problem = problem
        problem.members.append(.init("Message", .string(problem.detail)))
        var response = problem.response(requestID: nil)
        response.set("x-amzn-errortype", errorType(problem.status))
        return response
    }

    private static func errorType(_ status: Int) -> String {
        switch status {
        case 401: "UnrecognizedClientException"
        case 403: "AccessDeniedException"
        case 404: "ResourceNotFoundException"
        case 413: "RequestTooLargeException"
        case 429: "TooManyRequestsException"
        case 500...: "ServiceException"
        default: "InvalidRequestContentException"
        }
    }
}
