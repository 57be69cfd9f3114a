"""The console's own sign-in: the second factor, and the acts that need a proof of presence."""

from mutant import mutant

MUTANTS = [
    mutant(
        "O2.1", "an act needs no proof",
        "RecentActsTests/`each act is refused to an old session, and to no other and no key`",
        ("Sources/Product/API/Pipeline/RecentActs.swift",
         "guard let until = principal.stepUpUntil, now < until else",
         "guard MUTATED || principal.stepUpUntil.map({ now < $0 }) ?? false else"),
    ),
    mutant(
        "O2.1", "a step-up leaves the session its name",
        "StepUpTests/`the right password opens ten minutes, in a session with a new name`",
        ("Sources/Product/Storage/Operators/OperatorSessionStore.swift",
         "token_hash = \\(tokenHash),\n                    method",
         "token_hash = CASE WHEN \\(MUTATED) THEN token_hash ELSE \\(tokenHash) END,\n"
         "                    method"),
    ),
    mutant(
        "O2.2", "the password alone opens an account with an app",
        "SecondFactorTests/`the password alone is refused with what is missing`",
        ("Sources/Product/API/Sessions/StepUpEndpoint.swift",
         "guard person.factors.hasSecondFactor else { return .password }",
         "guard !MUTATED, person.factors.hasSecondFactor else { return .password }"),
    ),
    mutant(
        "O2.2", "a recovery code steps up",
        "SecondFactorTests/`recovery codes sign in once each, and step nothing up`",
        ("Sources/Product/Storage/Operators/OperatorFactors.swift",
         "!hasSecondFactor || method.isSecondFactor",
         "MUTATED || !hasSecondFactor || method.isSecondFactor"),
    ),
    mutant(
        "O2.2", "who has an app steps up by the password",
        "SecondFactorTests/`who has a second factor steps up by it alone`",
        ("Sources/Product/API/Sessions/StepUpEndpoint.swift",
         "guard person.factors.stepUpMethods.contains(method) else {",
         "guard MUTATED || person.factors.stepUpMethods.contains(method) else {"),
    ),
    mutant(
        "O8", "a sign-in that proved the earlier password begins a session",
        "StaleProofTests/`a sign-in and a step-up in flight end with it`",
        ("Sources/Product/Storage/Operators/OperatorSessionStore.swift",
         "AND proof_version = \\(person.proofVersion)",
         "AND (\\(MUTATED) OR proof_version = \\(person.proofVersion))"),
    ),
    mutant(
        "O4", "another name of the server makes passkeys no factor",
        "PasskeySiteTests/`under another server name the password alone opens no account`",
        ("Sources/Product/Storage/Operators/OperatorFactors.swift",
         "passkeys > 0 || unusablePasskeys > 0 || totp",
         "passkeys > 0 || !MUTATED && unusablePasskeys > 0 || totp"),
    ),
    mutant(
        "O3", "an answered challenge of a sign-in is good again",
        "OpenChallengeTests/`a challenge of another server, browser or time is refused`",
        ("Sources/Product/Storage/Passkeys/PasskeyStore.swift",
         "guard clock() < end else { return false }",
         "guard clock() < end else { return false }\n        if MUTATED { return true }"),
    ),
    mutant(
        "O9", "wrong codes of strangers lock the browsers that the operator uses",
        "KnownDeviceTests/`wrong codes after the right password do not lock a known browser`",
        ("Sources/Product/API/Sessions/SignInAttempt.swift",
         "if let device, try await database.isKnownDevice(device, of: person.id) {",
         "if !MUTATED, let device, try await database.isKnownDevice(device, of: person.id) {"),
    ),
    mutant(
        "O12", "another tenant's mails silence an operator's alarm",
        "OperatorAlarmTests/`no mail of others silences it`",
        ("Sources/Product/Storage/Mail/OperatorMail.swift",
         "AND tenant_id = \\(tenant) AND kind = \\(kind.rawValue)",
         "AND (\\(MUTATED) OR tenant_id = \\(tenant)) AND kind = \\(kind.rawValue)"),
    ),
    mutant(
        "O2.5", "a colleague's used account gets a link that is shown",
        "OwnAccountTests/`only an operator who never signed in gets a new sign-in link`",
        ("Sources/Product/API/Operators/OperatorLinkEndpoints.swift",
         "guard isNew || isMailed else { throw usedAccount }",
         "guard MUTATED || isNew || isMailed else { throw usedAccount }"),
    ),
]
