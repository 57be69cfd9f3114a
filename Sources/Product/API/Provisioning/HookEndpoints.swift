import Domain
import HTTP
import Storage

/// The generic hook and its dry run: 200 for every decision, refusals included.
enum HookEndpoints {
    static let all: [Endpoint] = [preSignup, evaluate]

    private static let preSignup = Endpoint(
        .post, "/v1/hooks/pre-signup", id: "preSignup", tag: "Provisioning",
        summary: "Decides who a person is and where they belong, and provisions them.",
        access: .right(.signUpHook), body: .json(AttemptShape.shape),
        answers: [.ok(ProvisioningResult.shape)], problems: [.unavailable], hook: true,
        maxBody: 1 << 18
    ) { call in
        let result = try await call.services.database.provision(
            AttemptShape.call(call), by: call.hookActor
        ) { $0.answerText }
        return .json(bytes: Array(result.answer.utf8))
    }

    private static let evaluate = Endpoint(
        .post, "/v1/provisioning/evaluate", id: "evaluateProvisioning", tag: "Provisioning",
        summary: "What an attempt would come to, with the rules that were looked at. "
            + "Writes nothing.",
        access: .right(.evaluate), body: .json(AttemptShape.shape),
        answers: [.ok(ProvisioningResult.shape)], problems: [.rateLimited], maxBody: 1 << 18
    ) { call in
        try await call.takeDryRuns()
        let result = try await call.services.database.provision(
            AttemptShape.call(call), dryRun: true, by: call.actor
        ) { _ in "" }
        let trace = try await call.services.database.shown(
            result.verdict.traceDocument, to: call.callerTenant)
        return .ok(result.json(trace: trace))
    }
}

extension Call {
    /// Audit rows of a hook name the hook's credential.
    var hookActor: Actor {
        var actor = actor
        actor.type = "hook"
        return actor
    }
}
