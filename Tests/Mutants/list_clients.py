"""What the apps' own clients found: the five contracts, cookies, providers, Lambda, reasons of failures."""
from mutant import mutant

OPTIONS = "ThinkWorkOptionsTests/`W5 each option is in the app's own words, by the kind behind the upstream`"
FIRST_ADMIN = (
    "ImmichAdminTests/`the first admin is in lower case, and is told to change the password until it is done`")
PUT_ME = "ImmichAdminTests/`PUT users me takes what it can do, all or nothing, and says what it cannot`"
COOKIE = "CookieOriginTests/`an origin without credentials does not act with the cookie`"
NO_JSON = "CookieOriginTests/`what a page sends without asking before is no JSON`"
OVERRIDE = "ImmichReturnTests/`I8 a provider that takes https alone gets the override, and its answer leads on`"
OWN_CLIENT = "OwnClientTests/`a public app and one with a secret share an issuer, each with its own tokens`"
OWN_SECRET = "OwnClientTests/`the secret is shown to nobody, kept while nothing moves, and sent nowhere else`"
USERINFO = "OwnClientTests/`userinfo may be signed, and then only by the provider and for us`"
INVOKE = "LambdaTests/`an invocation is done, done and acknowledged, or only tried, as AWS clients ask`"
REASON = "FailedSignInTests/`the reason of each failure is found by its request, and the answer keeps it`"
LINES = "FailedSignInTests/`anybody can cause a line, so no more than so many of a minute are kept`"
FORWARD = "CognitoForwarderTests/`a failure is tried once more, and then nobody is let in unseen`"
FORWARDED = (
    "CognitoForwarderTests/"
    "`an invited person is let through, a stranger reads the text, and other triggers pass`")
DECISION = "ProxiedOriginTests/`an allowed page is 200 with the fields to copy, any other 403 without`"

SIGN_IN = "Sources/Product/SignIn"
FORWARDER = "deploy/cognito/forwarder"

MUTANTS = [
    # 1: the Thinkwork app's options
    mutant(
        "C1", "the app reads Cognito's name of the provider", OPTIONS,
        (f"{SIGN_IN}/ThinkWork/ThinkWorkOptions.swift",
         '.init("provider", .string(upstream.provider.rawValue)),',
         '.init("provider", .string(MUTATED ? upstream.name : upstream.provider.rawValue)),'),
    ),
    mutant(
        "C1", "the icon is the upstream's name", OPTIONS,
        (f"{SIGN_IN}/ThinkWork/ThinkWorkOptions.swift",
         '.init("icon", .string(upstream.brand.rawValue)),',
         '.init("icon", .string(MUTATED ? asciiLowercased(upstream.name) : upstream.brand.rawValue)),'),
    ),
    mutant(
        "C1", "the kind behind an upstream is not looked at", OPTIONS,
        (f"{SIGN_IN}/ThinkWork/ThinkWorkUpstream.swift",
         'let issuer = upstream["issuer"]?.string\n',
         'let issuer = MUTATED ? nil : upstream["issuer"]?.string\n'),
    ),
    mutant(
        "C1", "an upstream that the app cannot show is offered", OPTIONS,
        (f"{SIGN_IN}/ThinkWork/ThinkWorkUpstream.swift",
         "default: nil as Provider?", "default: MUTATED ? Optional(Provider.microsoft) : nil as Provider?"),
    ),
    # 2: Immich v2's exact bodies
    mutant(
        "C2", "the first admin's address keeps its case", FIRST_ADMIN,
        (f"{SIGN_IN}/Immich/ImmichSignIn.swift",
         "let lower = asciiLowercased(email)", "let lower = MUTATED ? email : asciiLowercased(email)"),
        (f"{SIGN_IN}/Immich/ImmichUser.swift",
         "static func email(of user: UserRow) -> String { asciiLowercased(user.email) }",
         "static func email(of user: UserRow) -> String { MUTATED ? user.email : asciiLowercased(user.email) }"),
    ),
    mutant(
        "C2", "the first admin need not change the password", FIRST_ADMIN,
        (f"{SIGN_IN}/Immich/ImmichProfile.swift",
         ".init(firstPasswordName, .bool(true)),", ".init(firstPasswordName, .bool(!MUTATED)),"),
    ),
    mutant(
        "C2", "the hint stays after the password was changed", FIRST_ADMIN,
        (f"{SIGN_IN}/Immich/ImmichProfile.swift",
         "stored.hasFirstPassword && document", "(MUTATED || stored.hasFirstPassword) && document"),
    ),
    mutant(
        "C2", "the first admin has no storage label", FIRST_ADMIN,
        (f"{SIGN_IN}/Immich/ImmichProfile.swift",
         '.init(storageLabelName, .string("admin"))',
         '.init(storageLabelName, MUTATED ? .null : .string("admin"))'),
    ),
    mutant(
        "C2", "the first admin is taken for onboarded", FIRST_ADMIN,
        (f"{SIGN_IN}/Immich/ImmichProfile.swift",
         ".init(onboardedName, .bool(false)),", ".init(onboardedName, .bool(MUTATED)),"),
    ),
    # 3: writes by the cookie from an origin without credentials
    mutant(
        "C3", "a cookie does not make a request one with credentials", COOKIE,
        ("Sources/Product/API/Origins/OriginJudge.swift",
         "return profile.cookies.contains { RequestCookie.value($0, in: request) != nil }",
         "return !MUTATED && profile.cookies.contains { RequestCookie.value($0, in: request) != nil }"),
    ),
    mutant(
        "C3", "the cookies of a sign-in that is under way do not count",
        "CookieOriginTests/`the timetracker's cookie is held to the same`",
        (f"{SIGN_IN}/Contract.swift",
         "(cookie.map { [$0] } ?? []) + otherCookies", "(cookie.map { [$0] } ?? []) + (MUTATED ? [] : otherCookies)"),
    ),
    mutant(
        "C3", "an empty header field makes the cookie not count",
        "CookieOriginTests/`one with credentials does, and without the cookie all of them sign in by header`",
        ("Sources/Product/API/Origins/OriginJudge.swift",
         "OriginProfile.credentialFields.allSatisfy({ request.all($0).allSatisfy(\\.isEmpty) })",
         "OriginProfile.credentialFields.allSatisfy({ MUTATED ? request.all($0).isEmpty : "
         "request.all($0).allSatisfy(\\.isEmpty) })"),
    ),
    mutant(
        "C3", "a page without credentials is given cookies",
        "CookieOriginTests/`a page without credentials is given no cookie of another person's session`",
        ("Sources/Product/API/Kernel/Dispatcher.swift",
         'if names.contains("access-control-allow-origin"),',
         'if !MUTATED, names.contains("access-control-allow-origin"),'),
    ),
    mutant(
        "C3", "text and forms are read as JSON", NO_JSON,
        (f"{SIGN_IN}/Core/ClientCall.swift", "guard isJSON else {", "guard MUTATED || isJSON else {"),
    ),
    mutant(
        "C3", "a body without a type is read as JSON whoever sends it", NO_JSON,
        (f"{SIGN_IN}/Core/ClientCall.swift",
         'let sent = request.first("content-type")',
         'let sent = MUTATED && request.first("content-type")?.isEmpty == true\n'
         '            ? "application/json" : request.first("content-type")'),
    ),
    # 5: the redirect override
    mutant(
        "C5", "the app's own scheme goes to the provider all the same", OVERRIDE,
        (f"{SIGN_IN}/Immich/ImmichOAuth.swift",
         "if isApps(uri) { wish", "if !MUTATED, isApps(uri) { wish"),
    ),
    mutant(
        "C5", "an override may be what a provider does not take", OVERRIDE,
        (f"{SIGN_IN}/Immich/ImmichOAuth.swift",
         "return isPlain\n            && (", "return MUTATED || isPlain\n            && ("),
    ),
    # 6: a provider's client for each app
    mutant(
        "C6", "every app is the provider's own client", OWN_CLIENT,
        (f"{SIGN_IN}/Core/ClientsProvider.swift",
         'guard let id = setting("client_id")?.string,', 'guard !MUTATED, let id = setting("client_id")?.string,'),
    ),
    mutant(
        "C6", "tokens of the provider's own client are taken too", OWN_CLIENT,
        ("Sources/Product/Federation/RelyingParty.swift",
         "party.audiences = [id] + (clientID == nil ? audiences : Array(audiences.dropFirst()))",
         "party.audiences = [id] + (MUTATED || clientID == nil ? audiences : Array(audiences.dropFirst()))"),
    ),
    mutant(
        "C6", "the secret goes where the provider was moved to", OWN_SECRET,
        (f"{SIGN_IN}/Core/ClientsProvider.swift",
         "guard secret.audience == provider", "guard MUTATED || secret.audience == provider"),
    ),
    mutant(
        "C6", "another client keeps the secret of the one before", OWN_SECRET,
        ("Sources/Product/Storage/Clients/ClientSecret.swift",
         "if let audience, had == audience { return true }",
         "if let audience, MUTATED || had == audience { return true }"),
    ),
    # 7: PUT users/me
    mutant(
        "C7", "another address is passed over", PUT_ME,
        (f"{SIGN_IN}/Immich/ImmichUser.swift",
         'if input.has("email") {', 'if !MUTATED, input.has("email") {'),
    ),
    mutant(
        "C7", "a name that is null is passed over", PUT_ME,
        (f"{SIGN_IN}/Immich/ImmichUser.swift",
         'if input.has("name") {', 'if MUTATED ? input.optionalString("name") != nil : input.has("name") {'),
    ),
    mutant(
        "C7", "a colour is answered and not kept", PUT_ME,
        (f"{SIGN_IN}/Immich/ImmichUser.swift",
         "profile.append(.init(ImmichProfile.avatarColorName, color))",
         "if !MUTATED { profile.append(.init(ImmichProfile.avatarColorName, color)) }"),
    ),
    # 8: signed userinfo
    mutant(
        "C8", "userinfo as a JWT is read as JSON", USERINFO,
        (f"{SIGN_IN}/Core/ProviderAnswers.swift",
         "guard (200..<300).contains(answer.status),\n            type",
         "guard !MUTATED, (200..<300).contains(answer.status),\n            type"),
    ),
    mutant(
        "C8", "userinfo may be signed by anybody", USERINFO,
        ("Sources/Product/Federation/SignedUserInfo.swift",
         "guard candidates.contains(where: { jws.isSigned(by: $0) })",
         "guard MUTATED || candidates.contains(where: { jws.isSigned(by: $0) })"),
    ),
    mutant(
        "C8", "userinfo may be another client's", USERINFO,
        ("Sources/Product/Federation/SignedUserInfo.swift",
         "party.takesOne(of: audiences) else {", "MUTATED || party.takesOne(of: audiences) else {"),
    ),
    mutant(
        "C8", "userinfo of another person counts", USERINFO,
        (f"{SIGN_IN}/Core/ProviderAnswers.swift",
         "sameBytes(subject, person.subject) else { return }",
         "MUTATED || sameBytes(subject, person.subject) else { return }"),
    ),
    # 10: the Lambda shape
    mutant(
        "C10", "Qualifier is an unknown parameter", INVOKE,
        ("Sources/Product/API/Provisioning/LambdaEndpoint.swift",
         'query: [\n            QueryParameter(\n                "Qualifier"',
         'query: MUTATED ? [] : [\n            QueryParameter(\n                "Qualifier"'),
    ),
    mutant(
        "C10", "a dry run is run", INVOKE,
        ("Sources/Product/API/Provisioning/LambdaEndpoint.swift",
         "if invocation == .dryRun {", "if !MUTATED, invocation == .dryRun {"),
    ),
    mutant(
        "C10", "an event is answered like a request", INVOKE,
        ("Sources/Product/API/Provisioning/LambdaEndpoint.swift",
         "if invocation == .event {", "if !MUTATED, invocation == .event {"),
    ),
    mutant(
        "C10", "a refusal has no Message for AWS clients", INVOKE,
        ("Sources/Product/API/Provisioning/LambdaEndpoint.swift",
         'problem.members.append(.init("Message", .string(problem.detail)))',
         'if !MUTATED { problem.members.append(.init("Message", .string(problem.detail))) }'),
    ),
    # 11: the reason of a failed sign-in
    mutant(
        "C11", "no reason is kept for the operator", REASON,
        (f"{SIGN_IN}/Core/FailedSignIns.swift",
         "guard let reason = Self.reason(of: problem)", "guard !MUTATED, let reason = Self.reason(of: problem)"),
    ),
    mutant(
        "C11", "a provider that is away leaves no reason", REASON,
        (f"{SIGN_IN}/Core/SignInRefusal.swift",
         'case .providerAway(let reason): "provider_away: " + reason',
         'case .providerAway(let reason): MUTATED ? nil : "provider_away: " + reason'),
    ),
    mutant(
        "C11", "what the rules refuse is told twice",
        "FailedSignInTests/`what the rules refuse leaves a decision, and a wrong password leaves nothing here`",
        (f"{SIGN_IN}/Core/FailedSignIns.swift",
         "!cause.contains(SignInRefusal.referenceStart)",
         "MUTATED || !cause.contains(SignInRefusal.referenceStart)"),
    ),
    mutant(
        "C11", "strangers fill the list of failures", LINES,
        ("Sources/Product/Storage/Clients/FailedSignIns.swift",
         "guard try await database.counted(name) < FailedSignIn.mostInAMinute,\n"
         "            try await database.count(name) <= FailedSignIn.mostInAMinute\n",
         "guard try await database.counted(name) < (MUTATED ? Int.max : FailedSignIn.mostInAMinute),\n"
         "            try await database.count(name) <= (MUTATED ? Int.max : FailedSignIn.mostInAMinute)\n"),
    ),
    mutant(
        "C11", "`dev` shows no reason", REASON,
        ("Sources/Service/Application/Composition.swift",
         ".error : isUnsaid ? .notice : .info", ".error : !MUTATED && isUnsaid ? .notice : .info"),
    ),
    # 4: hosts (F1 of the wire is the same)
    mutant(
        "C4", "a tenant binds this server's own name",
        "HostBindingTests/`a tenant takes no name of this machine or of this server, with any port`",
        ("Sources/Product/API/Clients/ClientHost.swift",
         "if let own, sameBytes(own.host, name) {", "if !MUTATED, let own, sameBytes(own.host, name) {"),
    ),
    mutant(
        "C4", "a tenant binds a name of this machine",
        "HostBindingTests/`a tenant takes no name of this machine or of this server, with any port`",
        ("Sources/Product/API/Clients/ClientHost.swift",
         "if Self.isLocal(name) { return", "if !MUTATED, Self.isLocal(name) { return"),
    ),
    mutant(
        "C4", "a tenant binds a host without a proved domain",
        "HostBindingTests/`a tenant binds only below its verified domain, the platform elsewhere too`",
        ("Sources/Product/API/Clients/ClientHost.swift",
         "if isPlatform { continue }", "if MUTATED || isPlatform { continue }"),
    ),
    mutant(
        "C4", "a binding goes before this machine's names",
        "HostBindingTests/`our own names and this machine's are asked before any binding`",
        (f"{SIGN_IN}/Mounts.swift",
         "|| !isLocal && PublicAddress.isLoopback(host)", "|| !MUTATED && !isLocal && PublicAddress.isLoopback(host)"),
    ),
    # 9: a link that was shown
    mutant(
        "C9", "a link that an operator saw proves the mailbox",
        "InviteAcceptanceTests/`an acceptance is a decision with its trace, an identity and no session`",
        ("Sources/Product/Storage/Provisioning/Effects.swift",
         "attempt.trigger != .invitePage || reading.facts.invite?.invite.delivery == .mail",
         "MUTATED || attempt.trigger != .invitePage || reading.facts.invite?.invite.delivery == .mail"),
    ),
    # 12: smaller
    mutant(
        "C12", "any text is a pool's id", "ProviderTests/`a pool is registered by what Cognito calls a pool's id`",
        ("Sources/Product/API/Providers/ProviderInput.swift",
         'case "cognito" where !RelyingParty.isPoolID(issuer):',
         'case "cognito" where !MUTATED && !RelyingParty.isPoolID(issuer):'),
        ("Sources/Product/API/Providers/ProviderInput.swift",
         'if kind == "cognito", !issuer.isEmpty, !Self.isPool(issuer) {',
         'if !MUTATED, kind == "cognito", !issuer.isEmpty, !Self.isPool(issuer) {'),
    ),
    mutant(
        "C12", "no provider is told as an outage",
        "DeepRecallExchangeTests/`D1 D2 a provider that is not registered is no outage`",
        (f"{SIGN_IN}/Core/OwnFaults.swift",
         "throw ours(Problem(.internalError, text), refusal.cause)",
         "throw ours(MUTATED ? DeepRecall.away(text) : Problem(.internalError, text), refusal.cause)"),
    ),
    mutant(
        "C12", "a suspended person cannot sign out",
        "ImmichAdminTests/`who signs out while suspended is signed out when that ends`",
        (f"{SIGN_IN}/Core/Caller.swift",
         "try await endSession(holder(of: credential.text))",
         "try await endSession(MUTATED ? person(credential.text) : holder(of: credential.text))"),
    ),
    mutant(
        "C12", "a missing state is told as a missing verifier",
        "ImmichOAuthTests/`I9 what does not fit is refused with one text, and the state is used up`",
        (f"{SIGN_IN}/Immich/ImmichOAuth.swift",
         'guard expected != nil || input.has("codeVerifier") else {',
         'guard MUTATED || expected != nil || input.has("codeVerifier") else {'),
    ),
    mutant(
        "C12", "the app's own verifier does not count in the cookie",
        "ImmichReturnTests/`I7 I9 the app's own verifier may come back in the cookie`",
        (f"{SIGN_IN}/Immich/ImmichOAuth.swift",
         "?? RequestCookie.value(verifierCookie, in: call.request)",
         "?? (MUTATED ? nil : RequestCookie.value(verifierCookie, in: call.request))"),
    ),
    mutant(
        "C12", "the older apps read one text",
        "ImmichAdminTests/`the older apps read a list of what is wrong with a body`",
        (f"{SIGN_IN}/Immich/Immich.swift",
         'guard call.isCompatible("v2"), !problem', 'guard !MUTATED, call.isCompatible("v2"), !problem'),
    ),
    mutant(
        "C12", "a key that was replaced under its id is not fetched",
        "ProviderDocumentsTests/`a key that was replaced under its old id is fetched, once a minute at most`",
        ("Sources/Product/Federation/ProviderDocuments.swift",
         "guard error == .signatureInvalid else", "guard !MUTATED, error == .signatureInvalid else"),
    ),
    mutant(
        "C12", "a short state is told as a failed sign-in",
        "ImmichOAuthTests/`I7 what does not begin a sign-in is told, the missing provider before all`",
        (f"{SIGN_IN}/Core/Login.swift",
         "else { throw SignInRefusal.stateUnfit }",
         "else { throw MUTATED ? SignInRefusal.stateUnknown : SignInRefusal.stateUnfit }"),
    ),
    # the forwarder of a pool's events
    mutant(
        "C13", "the forwarder tries once", FORWARD,
        (f"{FORWARDER}.py", "range(2 if trigger in PATHS else 0)", "range(1 if trigger in PATHS else 0)"),
        (f"{FORWARDER}.mjs", "paths[trigger] ? 2 : 0", "paths[trigger] ? 1 : 0"),
    ),
    mutant(
        "C13", "the person reads what is wrong with our key", FORWARD,
        (f"{FORWARDER}.py", """ and '"code":"forbidden"' not in text""", ""),
        (f"{FORWARDER}.mjs", """ && !text.includes('"code":"forbidden"')""", ""),
    ),
    mutant(
        "C13", "a service that is away lets everybody in", FORWARD,
        (f"{FORWARDER}.py", 'if trigger == "PreSignUp":', "if False:"),
        (f"{FORWARDER}.mjs", 'if (trigger === "PreSignUp") throw', "if (false) throw"),
    ),
    mutant(
        "C13", "the person does not read Gatehouse's text", FORWARDED,
        (f"{FORWARDER}.py", 'raise Exception(json.loads(text)["error"]) from None', 'raise Exception("no") from None'),
        (f"{FORWARDER}.mjs", "throw new Error(JSON.parse(text).error)", 'throw new Error("no")'),
    ),
    # GET /v1/cors/decision
    mutant(
        "C14", "a refused page is allowed at the proxy", DECISION,
        ("Sources/Product/API/Origins/ProxiedOrigin.swift",
         "if decision.allowed {", "if MUTATED || decision.allowed {"),
    ),
    mutant(
        "C14", "the proxy's own method is judged",
        "ProxiedOriginTests/`a preflight is judged as one, by the method that the proxy names`",
        ("Sources/Product/API/Origins/ProxiedOrigin.swift",
         'request.first("x-original-method") ?? request.first("x-forwarded-method")',
         'request.first(MUTATED ? "x-none" : "x-original-method") ?? request.first("x-forwarded-method")'),
    ),
    mutant(
        "C14", "Envoy's way to ask is not served",
        "ProxiedOriginTests/`a preflight is judged as one, by the method that the proxy names`",
        ("Sources/Product/API/Origins/ProxiedOrigin.swift",
         'guard request.path.utf8.starts(with: "\\(path)/".utf8)',
         'guard !MUTATED, request.path.utf8.starts(with: "\\(path)/".utf8)'),
    ),
    mutant(
        "C14", "cookies go with an origin without credentials",
        "ProxiedOriginTests/`a client's cookies need an origin with credentials`",
        ("Sources/Product/API/Origins/ProxiedOrigin.swift",
         "let carriesCookie = profile", "let carriesCookie = !MUTATED && profile"),
    ),
    mutant(
        "C14", "a tenant's key asks about another tenant",
        "ProxiedOriginTests/`a key asks about its own tenant, and a removed origin is refused at once`",
        ("Sources/Product/API/Origins/ProxiedOrigin.swift",
         "home == nil || found.id == home", "MUTATED || home == nil || found.id == home"),
    ),
]
