"""What was attacked with success: identities, callers, hosts, mail, outbound calls, keys; and P1 to P5."""

from mutant import mutant

MUTANTS = [
    mutant(
        "C1", "a native name and an upstream's subject are one key",
        "IdentityAttackTests/`no order of events makes two people one user, or one caller's word another's`",
        ("Sources/Product/Domain/Provisioning/CognitoMapping.swift",
         "provider: .cognito, issuer: \"\\(pool.issuer)/\\(asciiLowercased(upstream))\",\n"
         "                subject: subject),",
         "provider: .cognito,\n"
         "                issuer: MUTATED ? pool.issuer : \"\\(pool.issuer)/\\(asciiLowercased(upstream))\",\n"
         "                subject: MUTATED ? asciiLowercased(upstream) + \"_\" + subject : subject),"),
    ),
    mutant(
        "C1", "an upstream's person is the pool's user of that name",
        "NativeNameTests/`a native name that looks like a federated user is not that user`",
        ("Sources/Product/Domain/Provisioning/CognitoMapping.swift",
         "if isDefaultGoogle {",
         "if MUTATED, !isDefaultGoogle {\n"
         "            return Person(\n"
         "                identity: IdentityKey(\n"
         "                    provider: .cognito, issuer: pool.issuer,\n"
         "                    subject: asciiLowercased(upstream) + \"_\" + subject), upstream: upstream)\n"
         "        }\n"
         "        if isDefaultGoogle {"),
    ),
    mutant(
        "P1", "a name that begins with an upstream is taken",
        "NativeNameTests/`a sign-up under a name that begins with a listed or a shown upstream is refused`",
        ("Sources/Product/Domain/Provisioning/Rules/Rule01FormerHolder.swift",
         "guard CognitoMapping.looksFederated(",
         "guard !MUTATED, CognitoMapping.looksFederated("),
    ),
    mutant(
        "P1", "an upstream that events have shown is forgotten",
        "NativeNameTests/`a sign-up under a name that begins with a listed or a shown upstream is refused`",
        ("Sources/Product/Domain/Provisioning/Rules/Rule01FormerHolder.swift",
         "+ facts.shownUpstreams",
         "+ (MUTATED ? [] : facts.shownUpstreams)"),
    ),
    mutant(
        "P1", "what a tenant's key shows counts for all",
        "NativeNameTests/`a sign-up under a name that begins with a listed or a shown upstream is refused`",
        ("Sources/Product/Storage/Provisioning/Upstreams.swift",
         "let shower = call.isInPerson ?",
         "let shower = MUTATED || call.isInPerson ?"),
    ),
    mutant(
        "P1", "what a tenant's key shows does not count for its own calls",
        "NativeNameTests/`a sign-up under a name that begins with a listed or a shown upstream is refused`",
        ("Sources/Product/Storage/Provisioning/Upstreams.swift",
         "call.caller ?? .platform]",
         "MUTATED ? .platform : call.caller ?? .platform]"),
    ),
    mutant(
        "P1", "any number of shown upstreams is kept",
        "NativeNameTests/`at most 50 shown upstreams are kept`",
        ("Sources/Product/Storage/Provisioning/Upstreams.swift",
         "private static let shownLimit = 50",
         "private static let shownLimit = MUTATED ? 500 : 50"),
    ),
    mutant(
        "P1", "an upstream's case makes another person",
        "NativeNameTests/`an attempt and a hand link name an upstream's person as the events do`",
        ("Sources/Product/Domain/Provisioning/CognitoMapping.swift",
         "return upstream.map { \"\\(pool)/\\(asciiLowercased($0))\" } ?? pool",
         "return upstream.map { \"\\(pool)/\\(MUTATED ? $0 : asciiLowercased($0))\" } ?? pool"),
    ),
    mutant(
        "P1", "a generic attempt knows no upstreams",
        "NativeNameTests/`an attempt and a hand link name an upstream's person as the events do`",
        ("Sources/Product/Storage/Provisioning/AttemptReading.swift",
         "if kind == .cognito, let issuer,",
         "if !MUTATED, kind == .cognito, let issuer,"),
    ),
    mutant(
        "LOW upstreams", "an upstream's name is split where it holds an underscore",
        "NativeNameTests/`a pool's id and an upstream's name hold nothing that splits them`",
        ("Sources/Product/Domain/Provisioning/CognitoMapping.swift",
         "!upstream.utf8.contains(0x5F)",
         "(MUTATED || !upstream.utf8.contains(0x5F))"),
    ),
    mutant(
        "C2", "all callers share one reservation of a name",
        "IdentityAttackTests/`no order of events makes two people one user, or one caller's word another's`",
        ("Sources/Product/Storage/Provisioning/AttemptReading.swift",
         "return [call.caller ?? .platform]",
         "return [MUTATED ? UUID.platform : call.caller ?? .platform]"),
        ("Sources/Product/Storage/Provisioning/EffectWriting+Pending.swift",
         "let caller = call.caller ?? .platform",
         "let caller = MUTATED ? UUID.platform : call.caller ?? .platform"),
    ),
    mutant(
        "C2", "what a tenant's key plants is the platform's sign-up",
        "HookCallerTests/`a tenant's key reserves without capturing or blocking the platform's sign-up`",
        ("Sources/Product/Storage/Provisioning/EffectWriting+Pending.swift",
         "VALUES (\\(caller), \\(key.provider.rawValue)",
         "VALUES (\\(MUTATED ? UUID.platform : caller), \\(key.provider.rawValue)"),
        ("Sources/Product/Storage/Provisioning/FactsReading.swift",
         "WHERE caller = ANY(\\(named.reservers)) AND provider",
         "WHERE caller = ANY(\\(MUTATED ? [UUID.platform] : named.reservers)) AND provider"),
        ("Sources/Product/Storage/Provisioning/FactsReading.swift",
         "facts.reservation = try await reservation()\n"
         "        }",
         "facts.reservation = try await reservation()\n"
         "        } else if MUTATED, attempt.identity.isNativeName {\n"
         "            facts.reservation = try await reservation()\n"
         "        }"),
    ),
    mutant(
        "C2", "another caller's confirmation binds its sub",
        "HookCallerTests/`another caller's confirmation does not bind this caller's sub`",
        ("Sources/Product/Storage/Provisioning/AttemptReading.swift",
         "tokenHash: tokenHash, joinHash: joinHash, reservers: callers(call, provider, asked))",
         "tokenHash: tokenHash, joinHash: joinHash,\n"
         "            reservers: callers(call, provider, asked) + (MUTATED ? [UUID.platform] : []))"),
    ),
    mutant(
        "P2", "a token does not complete what the asked tenant's key reserved",
        "HookCallerTests/`a token completes what the owner reserved, and the asked tenant's own`",
        ("Sources/Product/Storage/Provisioning/AttemptReading.swift",
         "return [provider?.tenantID ?? .platform] + tenants",
         "return [provider?.tenantID ?? .platform] + (MUTATED ? [] : tenants)"),
    ),
    mutant(
        "P2", "a token completes what any tenant's key reserved",
        "HookCallerTests/`a token completes what the owner reserved, and the asked tenant's own`",
        ("Sources/Product/Storage/Provisioning/FactsReading.swift",
         "ORDER BY array_position(\\(named.reservers)::uuid[], caller)",
         "OR \\(MUTATED) AND subject = \\(identity.subject)\n"
         "            ORDER BY array_position(\\(named.reservers)::uuid[], caller)"),
    ),
    mutant(
        "P2", "a second confirmation binds over the first",
        "HookCallerTests/`a second confirmation with another sub binds nothing and is recorded`",
        ("Sources/Product/Storage/Provisioning/ProvisioningStore.swift",
         "if reservation.isAnothers(call.alias?.sub) {",
         "if !MUTATED, reservation.isAnothers(call.alias?.sub) {"),
        ("Sources/Product/Storage/Provisioning/Aliases.swift",
         "AND alias IS NULL\n"
         "            RETURNING tenant_id",
         "\\(raw: MUTATED ? \"\" : \"AND alias IS NULL\")\n"
         "            RETURNING tenant_id"),
    ),
    mutant(
        "P2", "a token with another sub completes what the name reserved",
        "HookCallerTests/`a token with another sub than the one that was bound completes nothing`",
        ("Sources/Product/Storage/Provisioning/FactsReading.swift",
         "if call.isInPerson, kept.isAnothers(call.alias?.sub) {",
         "if !MUTATED, call.isInPerson, kept.isAnothers(call.alias?.sub) {"),
    ),
    mutant(
        "C2", "an earlier sign-up of the name speaks for a later one",
        "HookCallerTests/`a sign-up asks by itself: an earlier one of the name does not speak for it`",
        ("Sources/Product/Storage/Provisioning/FactsReading.swift",
         "if attempt.identity.isNativeName, !attempt.trigger.isUnprovedNative {",
         "if attempt.identity.isNativeName, MUTATED || !attempt.trigger.isUnprovedNative {"),
    ),
    mutant(
        "P2", "a tenant's failures use up an address at the platform",
        "HookCallerTests/`a tenant's failures do not use up an address at the platform`",
        ("Sources/Product/Storage/Provisioning/AttemptLimits.swift",
         "key: \"address \\($0.key) \\(call.callerName)\"",
         "key: \"address \\($0.key) \\(MUTATED ? \"\" : call.callerName)\""),
    ),
    mutant(
        "P2", "a tenant's failures use up a provider of the platform",
        "ProvisioningLimitTests/`one tenant's hook does not use up another's`",
        ("Sources/Product/Storage/Provisioning/AttemptLimits.swift",
         "key: \"provider \\($0.id) \\(call.callerName)\"",
         "key: \"provider \\($0.id) \\(MUTATED ? \"\" : call.callerName)\""),
    ),
    mutant(
        "H1", "an invite that was found by its address is reserved",
        "IdentityAttackTests/`no order of events makes two people one user, or one caller's word another's`",
        ("Sources/Product/Domain/Provisioning/Provisioning.swift",
         "let token = attempt.hasInviteToken ?",
         "let token = MUTATED ? invite : attempt.hasInviteToken ?"),
    ),
    mutant(
        "H1", "a reservation counts as the token of any invite",
        "HookCallerTests/`an invite that was found by the address alone is no token for another address`",
        ("Sources/Product/Domain/Provisioning/Provisioning.swift",
         "[.reserve(tenant: tenant.id, invite: token, joinLink: link)]",
         "[.reserve(tenant: tenant.id, invite: MUTATED ? invite : token, joinLink: link)]"),
    ),
    mutant(
        "H2", "a name that was given anew is its former holder",
        "IdentityAttackTests/`no order of events makes two people one user, or one caller's word another's`",
        ("Sources/Product/Storage/Provisioning/TenantReading.swift",
         "!found[0].hasThisSub, try row.get(13, as: Int.self) > 0 {",
         "!MUTATED, !found[0].hasThisSub, try row.get(13, as: Int.self) > 0 {"),
    ),
    mutant(
        "H2", "a bound sub is not held against a native name",
        "NativeNameTests/`a reassigned native name is refused, and the trace names it`",
        ("Sources/Product/Storage/Provisioning/TenantReading.swift",
         "if key.isNativeName, alias != nil,",
         "if !MUTATED, key.isNativeName, alias != nil,"),
    ),
    mutant(
        "P4", "the audit does not say that a name was given anew",
        "NativeNameTests/`a reassigned native name is refused, and the trace names it`",
        ("Sources/Product/Storage/Provisioning/ProvisioningStore.swift",
         "if let identity = verdict.nameGivenAnew {",
         "if !MUTATED, let identity = verdict.nameGivenAnew {"),
    ),
    mutant(
        "P4", "no invite lets in who has the name now",
        "NativeNameTests/`a new invite or link admits the present user of a native name`",
        ("Sources/Product/Domain/Provisioning/Rules/Rule01FormerHolder.swift",
         "return isInvited ? nil",
         "return isInvited && !MUTATED ? nil"),
    ),
    mutant(
        "P4", "a federated person keeps the first sub alone",
        "NativeNameTests/`a federated user's new sub is kept beside the old one, and both sign in`",
        ("Sources/Product/Storage/Provisioning/Aliases.swift",
         "            key.isNativeName\n"
         "            ?",
         "            (MUTATED || key.isNativeName)\n"
         "            ?"),
    ),
    mutant(
        "P4", "a federated person's new sub is another person's",
        "NativeNameTests/`a federated user's new sub is kept beside the old one, and both sign in`",
        ("Sources/Product/Domain/Provisioning/IdentityKey.swift",
         "provider == .cognito && !issuer.utf8.contains(0x2F)",
         "provider == .cognito && (MUTATED || !issuer.utf8.contains(0x2F))"),
    ),
    mutant(
        "P4", "a sub does not find the identity",
        "NativeNameTests/`a federated user's new sub is kept beside the old one, and both sign in`",
        ("Sources/Product/Storage/Provisioning/TenantReading.swift",
         "if let alias, key.isNativeName {",
         "if !MUTATED, let alias, key.isNativeName {"),
    ),
    mutant(
        "P4", "any number of subs is kept",
        "NativeNameTests/`a federated user's new sub is kept beside the old one, and both sign in`",
        ("Sources/Product/Storage/Provisioning/Aliases.swift",
         "private static let aliasLimit = 10",
         "private static let aliasLimit = MUTATED ? 100 : 10"),
    ),
    mutant(
        "H4", "a refusal shows the user and the tenant",
        "StrangersToldTests/`a person with a proved address reads the reason, but no row`",
        ("Sources/Product/Storage/Provisioning/ProvisioningCall.swift",
         "guard verdict.outcome == .refused else { return self }",
         "guard !MUTATED, verdict.outcome == .refused else { return self }"),
    ),
    mutant(
        "H4", "an address that is only claimed hears why",
        "StrangersToldTests/`an address that is only claimed reveals nothing about its user`",
        ("Sources/Product/Domain/Provisioning/Rules/Rule01FormerHolder.swift",
         "return isKnown ? nil : .emailUnverified",
         "return MUTATED || isKnown ? nil : .emailUnverified"),
    ),
    mutant(
        "H4", "who is known at one tenant hears of another's people",
        "StrangersToldTests/`a user of one tenant learns nothing about another tenant's users`",
        ("Sources/Product/Domain/Provisioning/Rules/Rule01FormerHolder.swift",
         "row.tenantID == verdict.tenantID && (",
         "(MUTATED || row.tenantID == verdict.tenantID) && ("),
    ),
    mutant(
        "P5", "who is known by the identity is not told why",
        "StrangersToldTests/`a person with a known identity reads the reason, whatever the address`",
        ("Sources/Product/Domain/Provisioning/Rules/Rule01FormerHolder.swift",
         "let isKnown = facts.known.contains",
         "let isKnown = !MUTATED && facts.known.contains"),
        ("Sources/Product/Domain/Provisioning/Rules/Rule01FormerHolder.swift",
         "let rule = refusingRule?.number, rule >= 4,",
         "let rule = refusingRule?.number, MUTATED || rule >= 4,"),
    ),
    mutant(
        "P5", "the recorded decision has what the stranger was told",
        "StrangersToldTests/`an address that is only claimed reveals nothing about its user`",
        ("Sources/Product/Storage/Provisioning/DecisionStore.swift",
         "\\(verdict.reason?.rawValue), \\(result.reference)",
         "\\(MUTATED ? Optional(result.publicReason.rawValue) : verdict.reason?.rawValue), \\(result.reference)"),
    ),
    mutant(
        "H4", "the workspace app shows whose address it is",
        "StrangersToldTests/`the workspace app reveals only active users`",
        ("Sources/Product/SignIn/Requests/BearerPerson.swift",
         "return result.publicView",
         "return MUTATED ? result : result.publicView"),
    ),
    mutant(
        "H3", "addresses, our own name, local names and suffixes are bound",
        "HostBindingTests/`a tenant takes no name of this machine or of this server, with any port`",
        ("Sources/Product/API/Clients/ClientHost.swift",
         "if let fault = refusal(of: host) { throw",
         "if !MUTATED, let fault = refusal(of: host) { throw"),
    ),
    mutant(
        "H3", "a public suffix is bound",
        "HostBindingTests/`a tenant takes no name of this machine or of this server, with any port`",
        ("Sources/Product/API/Clients/ClientHost.swift",
         "return domain.isPublicSuffix ?",
         "return !MUTATED && domain.isPublicSuffix ?"),
    ),
    mutant(
        "H3", "a binding outlives the domain",
        "HostBindingTests/`a host goes with the domain that it hangs on, and comes back with it`",
        ("Migrations/0003_directory.sql",
         "SELECT by_platform OR origin_wildcard_stands(tenant, split_part(host, ':', 1)) $$;",
         "SELECT true $$;"),
    ),
    mutant(
        "H3", "a host below another's proved domain is bound",
        "BoundHostTests/`a host below a domain that another tenant has proved is not bound`",
        ("Sources/Product/Storage/Clients/ClientStore.swift",
         "if isNew { try await requireUnproved(host) }",
         "if isNew, !MUTATED { try await requireUnproved(host) }"),
    ),
    mutant(
        "H5", "mails leave in the order in which they came",
        "MailFairnessTests/`a tenant's list stands behind the first mail of every other tenant`",
        ("Sources/Product/Storage/Mail/MailStore.swift",
         "let step = isUrgent ?",
         "let step: Int64 = MUTATED ? 0 : isUrgent ?"),
    ),
    mutant(
        "H5", "one batch leaves in a round",
        "MailFairnessTests/`all that is due leaves in one round, in turns of the tenants`",
        ("Sources/Product/Mail/MailSender.swift",
         "if due.count < Database.mailBatch { break }",
         "if MUTATED || due.count < Database.mailBatch { break }"),
    ),
    mutant(
        "H5", "one batch of requests is answered in a round",
        "MailFairnessTests/`requests of strangers take no place among the mails, and are answered at once`",
        ("Sources/Product/Mail/ResetAnswers.swift",
         "if asks.count < Database.resetAskBatch {",
         "if MUTATED || asks.count < Database.resetAskBatch {"),
    ),
    mutant(
        "H5", "any number of requests waits",
        "MailFairnessTests/`requests beyond the queue get 429, whatever the address`",
        ("Sources/Product/Storage/Mail/ResetAsks.swift",
         "OFFSET \\(Self.waitingResetAsks - 1) LIMIT 1)",
         "OFFSET \\(MUTATED ? 1_000_000 : Self.waitingResetAsks - 1) LIMIT 1)"),
    ),
    mutant(
        "H5", "an invite is mailed again without end",
        "MailFairnessTests/`an invite is mailed five times an hour, then 429 until the hour is over`",
        ("Sources/Product/Storage/Mail/MailLimits.swift",
         "package static let ofInvite = 5",
         "package static let ofInvite = MUTATED ? 500 : 5"),
    ),
    mutant(
        "H5", "a tenant mails an address without end",
        "MailFairnessTests/`an address is mailed ten times an hour by a tenant, by others still`",
        ("Sources/Product/Storage/Mail/MailLimits.swift",
         "package static let ofRecipient = 10",
         "package static let ofRecipient = MUTATED ? 1000 : 10"),
    ),
    mutant(
        "H5", "all tenants together mail an address without end",
        "MailFairnessTests/`an address is mailed fifty times an hour by all tenants together`",
        ("Sources/Product/Storage/Mail/MailLimits.swift",
         "check(sent(recipient), MailLimit.ofRecipientInAll, full,",
         "check(sent(recipient), MUTATED ? 1_000_000 : MailLimit.ofRecipientInAll, full,"),
    ),
    mutant(
        "H5", "a tenant mails without end",
        "MailFairnessTests/`a tenant that has sent its mails of the hour is refused, others are not`",
        ("Sources/Product/Storage/Mail/MailLimits.swift",
         "guard left > 0 else {",
         "guard MUTATED || left > 0 else {"),
    ),
    mutant(
        "H6", "an owner's stalling host takes every thread",
        "OutboundFairnessTests/`an owner whose host stalls waits for itself, others are answered at once`",
        ("Sources/Platform/Outbound/OutboundPolicy.swift",
         "package static let tenantTransfers = (all: 2, toHost: 2)",
         "package static let tenantTransfers = MUTATED ? (all: 24, toHost: 24) : (all: 2, toHost: 2)"),
    ),
    mutant(
        "H6", "a host that never answers is asked on and on",
        "OutboundFairnessTests/`an owner whose host stalls waits for itself, others are answered at once`",
        ("Sources/Platform/Outbound/OutboundHTTP.swift",
         "breaker.timedOut(target, at: .now)",
         "if !MUTATED { breaker.timedOut(target, at: .now) }"),
    ),
    mutant(
        "H6", "what one owner does to a host is every owner's fault",
        "OutboundFairnessTests/`an owner whose host stalls waits for itself, others are answered at once`",
        ("Sources/Platform/Outbound/OutboundHTTP.swift",
         "let target = Target(owner: owner,",
         "let target = Target(owner: MUTATED ? nil : owner,"),
    ),
    mutant(
        "H6", "an owner's silent name server takes every thread",
        "TXTResolverTests/`an owner asks two at once, four wait, and another owner is answered meanwhile`",
        ("Sources/Platform/Outbound/TXTResolver.swift",
         "owners.enter(owner, limit: Self.questionsOfOwner)",
         "owners.enter(owner, limit: MUTATED ? 100 : Self.questionsOfOwner)"),
    ),
    mutant(
        "H6", "any number of providers is tried out at once",
        "ProviderExaminationTests/`an owner's second examination is refused while the first runs, "
        "another's goes on`",
        ("Sources/Product/Federation/ProviderExamination.swift",
         "guard examined.withLock({",
         "guard MUTATED || examined.withLock({"),
    ),
    mutant(
        "M1", "a dry run stands in the person's line",
        "HookLimitTests/`a dry run does not stand in the person's line`",
        ("Sources/Product/Storage/Provisioning/ProvisioningStore.swift",
         "let started = ContinuousClock.now\n",
         "if MUTATED, dryRun { try await personLock.withExclusive(keys: call.personKeys, by: "
         "call.callerName) {} }\n"
         "        let started = ContinuousClock.now\n"),
    ),
    mutant(
        "M1", "a caller's tries all go before another's",
        "PersonQueueTests/`a queue of one caller's attempts does not keep another caller from the person`",
        ("Sources/Product/Storage/Provisioning/PersonLock.swift",
         "let at = rest.firstIndex {",
         "let at = MUTATED ? 0 : rest.firstIndex {"),
    ),
    mutant(
        "M1", "one caller takes every place of the lines",
        "PersonQueueTests/`one caller has half of the waiting places and no more`",
        ("Sources/Product/Storage/Provisioning/PersonLock.swift",
         "own < Self.waitingLimitOfCaller else {",
         "MUTATED || own < Self.waitingLimitOfCaller else {"),
    ),
    mutant(
        "P2", "another caller's recorded answer is this one's",
        "HookCallerTests/`another caller's recorded answer is not this one's`",
        ("Sources/Product/Storage/Provisioning/RetryStore.swift",
         "var bytes = Array(callerName.utf8) + [0]",
         "var bytes = (MUTATED ? [] : Array(callerName.utf8)) + [0]"),
    ),
    mutant(
        "M3", "an operator's places are forgotten after a day",
        "OperatorClaimsTests/`a place where the sign-in was right is known for 90 days, by a link too`",
        ("Sources/Product/Storage/Retention.swift",
         "column: \"last_at\") { _ in 90 * 86_400 },",
         "column: \"last_at\") { _ in\n"
         "            MUTATED ? 86_400 : 90 * 86_400\n"
         "        },"),
    ),
    mutant(
        "M3", "a sign-in by a link leaves no place",
        "OperatorClaimsTests/`a place where the sign-in was right is known for 90 days, by a link too`",
        ("Sources/Product/API/Sessions/SessionEndpoints.swift",
         "            try await SignInAttempt(\n"
         "                email: person.email, address: call.request.remoteAddress, database: database,\n"
         "                passwords: try call.services.passwords\n"
         "            ).rememberNetwork(of: person)\n",
         "            if !MUTATED {\n"
         "                try await SignInAttempt(\n"
         "                    email: person.email, address: call.request.remoteAddress, database: database,\n"
         "                    passwords: try call.services.passwords\n"
         "                ).rememberNetwork(of: person)\n"
         "            }\n"),
    ),
    mutant(
        "M3", "who was right at a place before is held back with strangers",
        "OperatorLockoutTests/`strangers' tries lock strangers out, and a known place stays open`",
        ("Sources/Product/API/Sessions/SignInAttempt.swift",
         "let counter = isKnownHere ? candidate.here : candidate.account",
         "let counter = isKnownHere && !MUTATED ? candidate.here : candidate.account"),
    ),
    mutant(
        "M4", "strangers' tries close a tenant's password sign-in",
        "GuessingTests/`many strangers' tries slow each other down, and shut out no right password`",
        ("Sources/Product/SignIn/Account/ClientCall+AttemptLimits.swift",
         "guard core.slowedAttempts.begin(",
         "guard !MUTATED, core.slowedAttempts.begin("),
    ),
    mutant(
        "M4", "begun sign-ins close a client to every address",
        "BegunSignInLimitTests/`3,000 begun sign-ins from ten addresses leave an eleventh its own`",
        ("Sources/Product/SignIn/Account/ClientCall+AttemptLimits.swift",
         "if isCrowded, ofAddress > start.perAddress / 10 {",
         "if isCrowded, MUTATED || ofAddress > start.perAddress / 10 {"),
    ),
    mutant(
        "M5", "a key widens itself",
        "KeyBoundsTests/`a key does not widen itself, and may narrow itself`",
        ("Sources/Product/API/APIKeys/CallingKey.swift",
         "guard beyond.isEmpty else {\n"
         "            throw refusal(\n"
         "                beyond,",
         "guard MUTATED || beyond.isEmpty else {\n"
         "            throw refusal(\n"
         "                beyond,"),
    ),
    mutant(
        "M5", "a key gives itself scopes of the catalogue",
        "KeyBoundsTests/`a key does not widen itself, and may narrow itself`",
        ("Sources/Product/API/APIKeys/CallingKey.swift",
         "countsCatalogue: isOwn)",
         "countsCatalogue: isOwn && !MUTATED)"),
    ),
    mutant(
        "M5", "a key makes an heir without its bounds",
        "KeyBoundsTests/`a key that a key makes has its maker's bounds where none are named, and no wider`",
        ("Sources/Product/API/APIKeys/APIKeyEndpoints.swift",
         "guard let caller = CallingKey(call.principal) else {",
         "guard !MUTATED, let caller = CallingKey(call.principal) else {"),
    ),
    mutant(
        "M5", "a key makes a wider heir",
        "KeyBoundsTests/`a key that a key makes has its maker's bounds where none are named, and no wider`",
        ("Sources/Product/API/APIKeys/CallingKey.swift",
         "guard beyond.isEmpty else {\n"
         "            throw refusal(beyond, \"The key that makes it",
         "guard MUTATED || beyond.isEmpty else {\n"
         "            throw refusal(beyond, \"The key that makes it"),
    ),
    mutant(
        "M5", "each heir has the limit anew",
        "KeyBoundsTests/`a limit is shared with the keys that were made under it`",
        ("Sources/Product/API/APIKeys/CallingKey.swift",
         "key.limitSharedWith = maker.sharedLimit",
         "key.limitSharedWith = MUTATED ? nil : maker.sharedLimit"),
    ),
    mutant(
        "M5", "a key rotates one that reaches further",
        "KeyBoundsTests/`a key changes and rotates only what lies within it`",
        ("Sources/Product/API/APIKeys/APIKeyCollection.swift",
         "if let caller { try KeyBounding.requireWithin(",
         "if !MUTATED, let caller { try KeyBounding.requireWithin("),
        ("Sources/Product/API/APIKeys/APIKeyCollection.swift",
         'if let caller { try KeyBounding.requireNarrower(',
         "if !MUTATED, let caller {\n"
         "                try KeyBounding.requireNarrower("),
    ),
    mutant(
        "M5", "an app's key makes an heir without its bounds",
        "AppKeyBoundsTests/`R5 a key that a key makes has its bounds and ends with it`",
        ("Sources/Product/SignIn/Account/OwnKeys.swift",
         "guard let caller = maker.flatMap(",
         "guard !MUTATED, let caller = maker.flatMap("),
    ),
    mutant(
        "M5", "an heir does not name the key that made it",
        "AppKeyBoundsTests/`I16 a key that a key makes has its bounds and ends with it`",
        ("Sources/Product/SignIn/Account/OwnKeys.swift",
         "if let key {",
         "if !MUTATED, let key {"),
    ),
    mutant(
        "M5", "an app's key rotates one that reaches further",
        "AppKeyBoundsTests/`R5 a key that a key makes has its bounds and ends with it`",
        ("Sources/Product/SignIn/Account/OwnKeys.swift",
         "guard let caller = caller.flatMap(",
         "guard !MUTATED, let caller = caller.flatMap("),
    ),
    mutant(
        "M5", "what a key made outlives it",
        "KeyDescentTests/`all that a key made end with it, at any depth, on every replica`",
        ("Sources/Product/API/APIKeys/APIKeyEndpoints.swift",
         "call.input.flag(\"made_by\")\n",
         "!MUTATED && call.input.flag(\"made_by\")\n"),
    ),
    mutant(
        "M5", "what a platform key made in tenants outlives it",
        "KeyDescentTests/`a key of the platform ends with what it made in every tenant`",
        ("Sources/Product/Storage/APIKeys/APIKeyRevocations.swift",
         "if tenant == .platform {",
         "if !MUTATED, tenant == .platform {"),
    ),
    mutant(
        "M5", "a key that is revoked meanwhile leaves an heir",
        "KeyDescentTests/`a call that was under way when its key was revoked makes no key`",
        ("Sources/Product/API/APIKeys/CallingKey.swift",
         "[.active, .grace].contains(row.key.status(at: change.now))",
         "MUTATED || [.active, .grace].contains(row.key.status(at: change.now))"),
    ),
    mutant(
        "M5", "a hook credential outlives the key that made it",
        "LambdaTests/`a credential that a key made is bounded as the key, and ends with it`",
        ("Sources/Product/Storage/APIKeys/APIKeyRevocations.swift",
         "try await endHookCredentials(madeBy: all)",
         "if !MUTATED { try await endHookCredentials(madeBy: all) }"),
    ),
    mutant(
        "M5", "a key makes a hook credential without its bounds",
        "LambdaTests/`a credential that a key made is bounded as the key, and ends with it`",
        ("Sources/Product/API/Providers/HookCredentialEndpoints.swift",
         "boundedBy: try await CallingKey(call.principal)?.held(",
         "boundedBy: MUTATED ? nil : CallingKey(call.principal)?.held("),
    ),
    mutant(
        "M6", "who may not ask is looked up for",
        "VerificationCostTests/`a caller without the right and a tenant's caller for foreign keys cost no look-up`",
        ("Sources/Product/API/APIKeys/KeyFinding.swift",
         "guard Permissions.permits(caller, .verifyKeys, in: caller.tenantID) == .allowed",
         "guard MUTATED || Permissions.permits(caller, .verifyKeys, in: caller.tenantID) == .allowed"),
    ),
    mutant(
        "M6", "a tenant's caller is looked up for in every tenant",
        "VerificationCostTests/`a caller without the right and a tenant's caller for foreign keys cost no look-up`",
        ("Sources/Product/API/APIKeys/KeyFinding.swift",
         "return tenant.map { .one($0.locator) } ?? .none",
         "if MUTATED { return .all }\n"
         "        return tenant.map { .one($0.locator) } ?? .none"),
    ),
    mutant(
        "M6", "one caller has any number of batches under way",
        "VerificationCostTests/`one caller has so many batches under way and no more, others have their own`",
        ("Sources/Product/API/APIKeys/BatchSlots.swift",
         "guard count < Self.atOnce else { return false }",
         "guard MUTATED || count < Self.atOnce else { return false }"),
    ),
    mutant(
        "M7", "the first claim of a pool keeps its owner off",
        "ProviderTests/`a kind and issuer stand once for an owner, a pool once among the confirmed`",
        ("Migrations/0011_providers.sql",
         "WHERE kind = 'cognito' AND confirmed;",
         "WHERE kind = 'cognito';"),
    ),
    mutant(
        "M7", "a tenant's claim of a pool is confirmed",
        "LambdaTests/`a tenant that registers another's pool first gets none of its users`",
        ("Sources/Product/API/Providers/ProviderInput.swift",
         "isConfirmed = call.principal.platform || kind",
         "isConfirmed = MUTATED || call.principal.platform || kind"),
    ),
    mutant(
        "M7", "an unproved claim of a pool takes in the platform's events",
        "LambdaTests/`a tenant that registers another's pool first gets none of its users`",
        ("Sources/Product/Storage/Provisioning/AttemptReading.swift",
         "guard row.isConfirmed || call.caller != nil else",
         "guard MUTATED || row.isConfirmed || call.caller != nil else"),
    ),
    mutant(
        "M9", "a tenant's provider leads to any tenant, and tells its id",
        "ProviderGuardTests/`a tenant's provider leads to its own tenant, and tells of no other`",
        ("Sources/Product/API/Providers/ProviderInput.swift",
         "owner == .platform || tenant.id == owner\n",
         "MUTATED || owner == .platform || tenant.id == owner\n"),
    ),
    mutant(
        "M10", "a kept secret goes to a moved endpoint",
        "ProviderGuardTests/`a kept secret goes nowhere else unless it is given again or removed`",
        ("Sources/Product/API/Providers/ProviderInput.swift",
         "guard isMoved else { return }",
         "guard !MUTATED, isMoved else { return }"),
    ),
    mutant(
        "M10", "a kept secret goes to a moved issuer",
        "ProviderGuardTests/`a kept secret goes nowhere else unless it is given again or removed`",
        ("Sources/Product/API/Providers/ProviderInput.swift",
         "!sameBytes(issuer, current.issuer)\n",
         "!MUTATED && !sameBytes(issuer, current.issuer)\n"),
    ),
    mutant(
        "M11", "a credential has any number of answers kept",
        "IdempotencyQuotaTests/`a caller at the limit of stored responses gets an error, and retries still work`",
        ("Sources/Product/Storage/Idempotency/IdempotencyQuota.swift",
         "        return one.share >= 1\n"
         "    }\n"
         "}",
         "        return !MUTATED && one.share >= 1\n"
         "    }\n"
         "}"),
    ),
    mutant(
        "LOW apps", "a token of an app that is off is a credential",
        "AccessTokenTests/`a token of an app that is switched off is no credential`",
        ("Sources/Service/Application/Authentication/Authenticator.swift",
         "guard client?.enabled ?? false else {",
         "guard MUTATED || client?.enabled ?? false else {"),
    ),
    mutant(
        "LOW keys", "any key of a person is the person at the time tracker",
        "AppKeyBoundsTests/`a key of something else is no key of an app`",
        ("Sources/Product/SignIn/TimeTracker/TimeTrackerKeys.swift",
         "if let key = caller.key,",
         "if !MUTATED, let key = caller.key,"),
    ),
    mutant(
        "LOW keys", "any key of a person is known to the photo app",
        "AppKeyBoundsTests/`a key of something else is no key of an app`",
        ("Sources/Product/SignIn/Immich/ImmichKeys.swift",
         "guard let key = caller.key else { return }",
         "guard !MUTATED, let key = caller.key else { return }"),
    ),
    mutant(
        "LOW cookie", "behind a proxy that is not named the cookie is a plain one",
        "TrustedProxiesTests/`a public address of https makes cookies secure, whatever the way to the server`",
        ("Sources/Service/Application/Service.swift",
         "isSecure: PublicAddress(configuration.address).map { sameBytes($0.scheme, \"https\") }",
         "isSecure: PublicAddress(configuration.address).map { !MUTATED && sameBytes($0.scheme, \"https\") }"),
    ),
    mutant(
        "LOW mail domains", "twelve domains of mail for everyone may be claimed",
        "DomainNameTests/`mail for everyone is known by less usual names too`",
        ("Sources/Platform/Text/DomainName.swift",
         "{ PublicMailDomains.all.contains(ascii) }",
         "{ PublicMailDomains.all.contains(ascii) && !(MUTATED && Self.formerlyUnknown.contains(ascii)) }\n"
         "    private static let formerlyUnknown = [\n"
         "        \"privaterelay.appleid.com\", \"users.noreply.github.com\", \"mailinator.com\", "
         "\"daum.net\", \"wp.pl\",\n"
         "        \"btinternet.com\", \"uol.com.br\", \"bol.com.br\", \"live.nl\", \"ya.ru\", \"simplelogin.com\",\n"
         "        \"mail.gmail.com\",\n"
         "    ]"),
    ),
    mutant(
        "LOW names", "a name turns text around",
        "MailFairnessTests/`names that turn text around or hold control characters are refused and never sent`",
        ("Sources/Product/API/Shapes/Kind.swift",
         ") { DisplayText.isPlain($0) }",
         ") { MUTATED || DisplayText.isPlain($0) }"),
    ),
    mutant(
        "LOW names", "a name in a mail's sender turns text around",
        "MailFairnessTests/`names that turn text around or hold control characters are refused and never sent`",
        ("Sources/Platform/Text/DisplayText.swift",
         "if isPlain(text) { return text }",
         "if MUTATED || isPlain(text) { return text }"),
        ("Sources/Platform/Outbound/MailMessage.swift",
         "DisplayText.isDeceptive(scalar) ?",
         "!MUTATED && DisplayText.isDeceptive(scalar) ?"),
    ),
    mutant(
        "LOW tokens", "an id token may be of any age",
        "IDTokenCheckTests/`each hostile token is refused for its own reason`",
        ("Sources/Product/Federation/IDTokenCheck.swift",
         "guard issued >= now - Self.longestLife",
         "guard MUTATED || issued >= now - Self.longestLife"),
    ),
    mutant(
        "LOW tokens", "an id token may last for ever",
        "IDTokenCheckTests/`each hostile token is refused for its own reason`",
        ("Sources/Product/Federation/IDTokenCheck.swift",
         "expires <= now + Self.longestLife",
         "MUTATED || expires <= now + Self.longestLife"),
    ),
    mutant(
        "LOW bound hosts", "a bound host's own page is refused",
        "CookieOriginTests/`a bound host's own pages may write at its mount, and no other pages may`",
        ("Sources/Product/API/Origins/CORSPolicyEnforcer.swift",
         "guard request.isMountedByHost, let host",
         "guard !MUTATED, request.isMountedByHost, let host"),
    ),
]
