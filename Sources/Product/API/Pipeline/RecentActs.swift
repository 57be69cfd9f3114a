import Domain
import HTTP
import JSON
import Storage
import Text

/// The condition under which a call needs recent proof that the console's operator is present.
package enum RecentAct: Sendable {
    /// Every call needs a recent proof of presence. The text is the subject of the sentence in the
    /// error.
    case always(String)
    /// A call needs a recent proof of presence if the function returns true for the call.
    case asked(String, @Sendable (Call) -> Bool)
    /// It depends on the stored object whether a call needs a recent proof of presence. The handler
    /// checks this by `requireRecentSignIn`.
    case stored
    /// A call needs a recent proof of presence if the function returns true for the call, or if the
    /// handler requires the proof because of a stored object.
    case askedOrStored(String, @Sendable (Call) -> Bool)
}

/// The endpoints that need recent proof of presence: they create a credential, change who is
/// trusted, affect many objects, or cannot be undone. A test lists every other write, with the
/// reason why it needs no proof.
package enum RecentActs {
    /// For each endpoint that may need a recent proof of presence: the condition, by operation id.
    package static let all: [String: RecentAct] = [
        // Credentials of machines.
        "createApiKey": .always("A new key"),
        "createPlatformApiKey": .always("A new key"),
        "rotateApiKey": .always("A key's new secret"),
        "rotatePlatformApiKey": .always("A key's new secret"),
        "rollbackApiKey": .always("Going back to a key's old secret"),
        "rollbackPlatformApiKey": .always("Going back to a key's old secret"),
        "updateApiKey": .stored,
        "updatePlatformApiKey": .stored,
        "createHookCredential": .always("A new hook credential"),

        // Credentials of people.
        "addPasskey": .always("A new passkey"),
        "removePasskey": .always("The removal of a passkey"),
        "makePasskeyOptions": .asked("A new passkey") {
            !sameBytes($0.input.optionalString("purpose"), Passkey.Purpose.stepUp.rawValue)
        },
        "createOperator": .always("A new operator"),
        "updateOperator": .always("A change of an operator"),
        "deleteOperator": .always("The removal of an operator"),
        "remakeOperatorLink": .always("A new link for an operator"),
        "putOperatorSignIn": .always("A change of where operators sign in"),
        "unbindOperator": .always("The end of an operator's account at the provider"),
        "deleteOperatorSignIn": .always("A change of where operators sign in"),
        "setOwnPassword": .always("A new password"),
        "offerTotp": .always("A new authenticator app"),
        "confirmTotp": .always("A new authenticator app"),
        "removeTotp": .always("The removal of your authenticator app"),
        "makeRecoveryCodes": .always("New recovery codes"),
        "createPasswordLink": .always("A link to a user's new password"),
        "askForEmailChange": .always("A user's new address"),
        "createUser": .asked("A new admin") { makesAdmin($0.input) },
        "updateUser": .asked("A new admin") { makesAdmin($0.input) },
        "createInvite": .askedOrStored("An invite of an admin") {
            makesAdmin($0.input)
                || ($0.input.optionalObjects("invites") ?? []).contains(where: makesAdmin)
        },
        "updateInvite": .asked("An invite of an admin") { makesAdmin($0.input) },
        "resendInvite": .stored,
        "restoreUser": .stored,
        "resumeUser": .stored,
        "approveUser": .stored,
        "createJoinLink": .always("A join link"),

        // Acts that change whose assertions about a person are trusted.
        "createProvider": .always("A new provider"),
        "updateProvider": .always("A change of a provider"),
        "deleteProvider": .always("The removal of a provider"),
        "createDomain": .always("A new domain"),
        "updateDomain": .always("A change of a domain"),
        "deleteDomain": .always("The removal of a domain"),
        "putPolicy": .always("A change of the policy"),
        "putClient": .always("A change of a client"),
        "verifyDomain": .asked("Verifying a domain without a DNS record") {
            sameBytes($0.input.optionalString("method"), TenantDomain.Method.operator.rawValue)
        },
        "linkIdentity": .always("A sign-in linked by hand"),
        "createLinkGrant": .always("A link grant"),
        // Resolving a decision gives an account to another person, or another address to an
        // account.
        "resolveDecision": .always("A user's new sign-in or address"),
        "mergeUsers": .asked("A merge") { !$0.isDryRun },
        "undoMerge": .always("The undo of a merge"),
        "createImport": .always("An import"),
        "createCorsOrigin": .asked("An origin with cookies", carriesCookies),
        "createPlatformCorsOrigin": .asked("An origin with cookies", carriesCookies),
        "replaceCorsOrigins": .asked("An origin with cookies", carriesCookies),

        // Acts that affect many objects, or that cannot be undone.
        "undoJob": .always("The undo of a job"),
        "undoPlatformJob": .always("The undo of a job"),
        "resumeJob": .always("The resume of a job"),
        "resumePlatformJob": .always("The resume of a job"),
        "actOnUsers": .askedOrStored("A new admin") { makesAdmin($0.input) && !$0.isDryRun },
        "actOnInvites": .stored,
        "actOnApiKeys": .stored,
        "actOnPeople": .asked("The export or erasure of a person") {
            ["export", "erase"].contains($0.input.optionalString("action") ?? "")
        },
        "deleteUser": .asked("A purge") { $0.query.flag("purge") },
        "revokeApiKeys": .asked("The end of all keys") { !$0.input.has("owner_user_id") },
        "suspendTenant": .always("The suspension of a tenant"),
        "deleteTenant": .always("The deletion of a tenant"),
        "listUsers": .asked("An export of the users") { $0.export != nil },
    ]

    /// Whether the input gives a user the role of an admin. As an admin, the user can get keys and
    /// links of others without a session of the console.
    private static func makesAdmin(_ input: Input) -> Bool {
        sameBytes(input.optionalString("role"), UserRole.admin.rawValue)
    }

    private static let carriesCookies: @Sendable (Call) -> Bool = { call in
        call.input.flag("credentials")
            || (call.input.optionalObjects("items") ?? []).contains { $0.flag("credentials") }
    }

    private static func sameBytes(_ text: String?, _ other: String) -> Bool {
        text?.utf8.elementsEqual(other.utf8) ?? false
    }
}

extension Endpoint {
    /// The condition for this endpoint; `nil` if no call needs recent proof of presence.
    var recentAct: RecentAct? { RecentActs.all[id] }
}

extension Call {
    /// Throws 403 `step_up_required` if the console's operator has neither signed in nor stepped up
    /// recently. Callers without a session of the console pass: keys, and users with an access
    /// token.
    func requireRecentSignIn(for act: String) throws {
        guard principal.isConsoleSession else { return }
        guard let until = principal.stepUpUntil, now < until else { throw signInAgain(act) }
    }

    /// Requires a recent sign-in if the invite that is created or shown is for an admin.
    func requireRecentSignIn(forInvite role: UserRole) throws {
        if role == .admin { try requireRecentSignIn(for: "An invite of an admin") }
    }

    /// Requires a recent sign-in if a restore, a resume or an approval admits an admin.
    func requireRecentSignIn(forAdmin user: UserRow) throws {
        if user.role == .admin { try requireRecentSignIn(for: "Letting an admin in") }
    }

    /// The text for an operator who has second factors and can use none of them.
    static let unusableFactors =
        "Your passkeys were made for another name of this server, or your second factors were "
        + "disowned by mail. The server's administrator can let you in again with `gatehouse "
        + "operator reset`."

    /// The error that requires a recent sign-in. `act` is the subject of its sentence.
    func signInAgain(_ act: String) -> Problem {
        let methods = principal.stepUpMethods
        guard methods.isEmpty else {
            return stepUpRequired("\(act) needs a proof from the last 10 minutes that it is you.")
        }
        if principal.hasUnusableFactors {
            return stepUpRequired("\(act) needs a second factor. \(Self.unusableFactors)")
        }
        guard !principal.canReturn else {
            return stepUpRequired(
                "\(act) needs a sign-in within the last 10 minutes: sign out and in again.")
        }
        return stepUpRequired(
            "\(act) needs a proof from the last 10 minutes that it is you, and your account has "
                + "neither a password nor a passkey.")
    }

    func stepUpRequired(_ detail: String) -> Problem {
        .stepUpRequired(
            detail, by: principal.stepUpMethods.map(\.rawValue), else: stepUpRemedies)
    }

    /// What the operator can do without a method of stepping up; empty if there is a method.
    var stepUpRemedies: [StepUpRemedy] {
        principal.stepUpMethods.isEmpty
            ? StepUpRemedy.all(
                isUnusable: principal.hasUnusableFactors, canReturn: principal.canReturn,
                isOpen: principal.stepUpUntil.map { now < $0 } ?? false,
                sendsMail: application.sendsMail)
            : []
    }
}

extension StepUpRemedy {
    /// What the operator can do without a method of stepping up, the easiest first. `isUnusable` is
    /// true if there are second factors but none can be used. `isOpen` is true if a sign-in by link
    /// is recent enough for setting up a password or a passkey.
    static func all(
        isUnusable: Bool, canReturn: Bool, isOpen: Bool, sendsMail: Bool
    ) -> [StepUpRemedy] {
        if isUnusable { return [.operatorReset] }
        if canReturn { return [.signInAgain] }
        return (isOpen ? [.setUp] : []) + (sendsMail ? [.mailLink] : []) + [.operatorReset]
    }
}

extension Problem {
    /// The error that requires a recent sign-in. `remedies` is what the operator can do if
    /// `methods` is empty.
    static func stepUpRequired(
        _ detail: String, by methods: [String], else remedies: [StepUpRemedy]
    ) -> Problem {
        Problem(
            .stepUpRequired, detail,
            members: [
                .init("max_age", .int(Int(OperatorSession.recentSeconds))),
                .init("methods", .strings(methods)),
                .init("remedies", .strings(remedies.map(\.rawValue))),
            ])
    }
}

extension Dispatcher {
    /// Throws if the call needs a recent proof of presence and has none. This step comes after the
    /// check of the body, so that no proof is requested for an invalid call. It comes before the
    /// check of the idempotency key, so that the error is not stored as the key's response.
    func stepUp(_ exchange: inout Exchange) throws -> Response? {
        let call = exchange.call
        switch exchange.endpoint?.recentAct {
        case .always(let act): try call.requireRecentSignIn(for: act)
        case .asked(let act, let isAct), .askedOrStored(let act, let isAct):
            if isAct(call) { try call.requireRecentSignIn(for: act) }
        case .stored, nil: break
        }
        return nil
    }
}
