"""The console's own sign-in: the second factor, and the acts that need a proof of presence."""

from mutant import mutant

MUTANTS = [
    mutant(
        "O2.1", "an act needs no proof",
        "RecentActsTests/`each act is refused to an old session, and to no other and no key`",
        ("Sources/Product/API/Pipeline/Call+RecentSignIn.swift",
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
        "SecondFactorTests/`the password alone opens nothing, and says what is missing`",
        ("Sources/Product/API/Sessions/SecondFactor.swift",
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
        "O2.2", "half a sign-in makes its network known",
        "OwnAccountTests/`a changed factor and a new network are mailed`",
        ("Sources/Product/API/Sessions/SignInAttempt.swift",
         "        try await database.clearSignInFailures(counter)\n        return .right(person)",
         "        try await database.clearSignInFailures(counter)\n"
         "        if MUTATED { try await rememberNetwork(of: person) }\n"
         "        return .right(person)"),
    ),
    mutant(
        "O2.5", "a colleague's used account gets a link that is shown",
        "OwnAccountTests/`the link is made anew for who never signed in, and for no other`",
        ("Sources/Product/API/Operators/OperatorLinkEndpoint.swift",
         "guard isNew || isMailed else { throw usedAccount }",
         "guard MUTATED || isNew || isMailed else { throw usedAccount }"),
    ),
]
