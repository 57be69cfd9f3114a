"""The findings on the product against its specification, and the decisions P6 to P19 that settled them."""
from mutant import mutant

RULES = "Sources/Product/Domain/Provisioning/Rules/"
DOMAIN = "Sources/Product/Domain/"
STORAGE = "Sources/Product/Storage/"
API = "Sources/Product/API/"

HAND = "HandLinkTests/"
HAND_RULE = "HandLinkRuleTests/"
CHOICE = "ChoiceRuleTests/"
ROLE = "InviteRoleTests/"
RESOLVE = "ResolveDecisionTests/"
VIEW = "DecisionViewTests/"
YES = "NearestYesTests/"
KINDS = "NearestYesKindsTests/"
GIVEN = "GivenAccountTests/"
ERASURE = "ErasureTests/"
TIMES = "SignInTimesTests/"
CLAIMS = "OperatorClaimsTests/"
LIMITS = "HookLimitTests/"
GRANTS = "LinkGrantTests/"
CARE = "AccountCareTests/"
SUSPENSION = "TenantSuspensionTests/"
OWNER = "OwnerDeletedTests/"

CANDIDATES = RULES + "CandidateRule.swift"
KNOWN = RULES + "KnownIdentityRule.swift"
EXISTING = RULES + "ExistingRowRules.swift"
EFFECTS = STORAGE + "Provisioning/Effects.swift"
TENANT_READING = STORAGE + "Provisioning/TenantReading.swift"
RESOLVING = STORAGE + "Provisioning/ResolvingStore.swift"
DECLINING = STORAGE + "Provisioning/DecliningStore.swift"
NEAREST = DOMAIN + "Provisioning/NearestYes.swift"
INVITES = STORAGE + "Invites/InviteStore.swift"
INVITE_CHANGES = STORAGE + "Invites/InviteChanges.swift"
IDENTITIES = STORAGE + "Users/IdentityStore.swift"
PROVISIONING = STORAGE + "Provisioning/ProvisioningStore.swift"
SIGN_INS = STORAGE + "Users/SignIns.swift"
EMAIL = STORAGE + "Users/EmailChanges.swift"
THINKWORK_INVITES = "Sources/Product/SignIn/ThinkWork/ThinkWorkInvites.swift"

MUTANTS = [
    # Finding 1 and P8: the role of a row and of its invite are one.
    mutant(
        "P8", "a change of the row's role leaves the invite's",
        ROLE + "`a change of the row's role is not undone by the sign-in`",
        (STORAGE + "Users/UserStore.swift",
         "if edited.role != row.role {", "if !MUTATED, edited.role != row.role {")),
    mutant(
        "P8", "a change of the invite's role leaves the row's",
        ROLE + "`a change of the invite's role is the row's too`",
        (INVITE_CHANGES,
         "if next.role != invite.role {", "if !MUTATED, next.role != invite.role {")),
    mutant(
        "P8", "a role counts for who invited, not for who gave it",
        ROLE + "`the role counts for who gave it last, not for who invited`",
        (INVITE_CHANGES,
         'func roleGiven(_ role: UserRole) -> SQL {\n        """',
         'func roleGiven(_ role: UserRole) -> SQL {\n        MUTATED ? "role = \\(role.rawValue)" : """')),
    mutant(
        "P8", "an accepted invite is edited",
        ROLE + "`a pending invite is edited, and no other`",
        (INVITE_CHANGES, "guard status == .pending else {", "guard MUTATED || status == .pending else {"),
        (INVITE_CHANGES,
         "WHERE tenant_id = \\(tenant) AND id = \\(invite.id) AND status = 'pending'",
         "WHERE tenant_id = \\(tenant) AND id = \\(invite.id)"
         " \\(raw: MUTATED ? \"\" : \"AND status = 'pending'\")")),
    mutant(
        "P8", "inviting again with another role is taken and ignored",
        ROLE + "`inviting again with another role is a conflict that names the invite`",
        (INVITES, "let standsAsAsked = request.role", "let standsAsAsked = MUTATED || request.role")),
    mutant(
        "P8", "sending again keeps the old role",
        ROLE + "`inviting again with another role is a conflict that names the invite`",
        (INVITES, "let role = request.role ?? invite.role",
         "let role = MUTATED ? invite.role : request.role ?? invite.role")),
    mutant(
        "P8", "sending again needs no right to the role that stood",
        ROLE + "`inviting again with another role is a conflict that names the invite`",
        (INVITES, "guard pending.role <= widest else", "guard MUTATED || pending.role <= widest else")),

    # Finding 2 and P9: what an operator linked by hand.
    mutant(
        "P9", "a hand link does not admit a pending row",
        HAND + "`a sign-in linked by hand to a prepared row gets in without an address`",
        (KNOWN, "open.filter { waitsByHand($0) }", "open.filter { !MUTATED && waitsByHand($0) }")),
    mutant(
        "P9", "a tenant's word is found through the identity",
        HAND + "`a tenant's operator admits by hand where that tenant is asked and nowhere else`",
        (KNOWN, "?? !row.isTenantsWord", "?? (MUTATED || !row.isTenantsWord)"),
        (KNOWN, "asked != nil || !row.isTenantsWord", "MUTATED || asked != nil || !row.isTenantsWord")),
    mutant(
        "P9", "a wipe takes what an operator linked",
        HAND + "`another account with the row's address does not wipe the operator's link`",
        (TENANT_READING, "AND c.linked_by_type IS NULL),",
         '\\(raw: MUTATED ? "" : "AND c.linked_by_type IS NULL")),'),
        (EFFECTS, "AND linked_by_type IS NULL",
         '\\(raw: MUTATED ? "" : "AND linked_by_type IS NULL")')),
    mutant(
        "P9", "a hand link proves the address",
        HAND + "`a hand link proves no address, not even the row's own`",
        (EFFECTS, '"user.activated", provesAddress: false)', '"user.activated", provesAddress: MUTATED)')),
    mutant(
        "P9", "a hand link admits suspended and deleted rows",
        HAND_RULE + "`suspended, deleted and waiting rows stay refused`",
        (KNOWN, "guard row.isLinkedByHand, row.user.status == .pending,",
         "guard row.isLinkedByHand, MUTATED || row.user.status == .pending,")),
    mutant(
        "P9", "a row of a dead invite is admitted by a hand link",
        HAND_RULE + "`a row by an invite counts through that invite alone`",
        (KNOWN, "case .invite: return row.invite?.invite.isLive(at: now) ?? false",
         "case .invite: return row.invite?.invite.isLive(at: now) ?? MUTATED")),
    mutant(
        "P9", "anybody who may link links to any role",
        HAND + "`nobody links a sign-in to an account above the own role`",
        (API + "Users/UserIdentityEndpoints.swift", "guard mayActFor(call, user) else {",
         "guard MUTATED || mayActFor(call, user) else {"),
        ("Sources/Product/Domain/Permissions/PermissionTable.swift",
         "case .deleteUsers, .restoreUsers, .linkIdentities: [y, y, n, n, n, y, n, n]",
         "case .deleteUsers, .restoreUsers, .linkIdentities: [y, y, n, n, n, y, MUTATED ? y : n, n]")),

    # Finding 4 and P10: who was unlinked stays out.
    mutant(
        "P10", "an account without a sign-in takes any by its address",
        HAND_RULE + "`an active user without a sign-in takes none by the address alone`",
        (EXISTING, "return tenant.policy.autoLink == .authoritative && vouching == .authoritative",
         "if MUTATED, !user.hasProvedCredential { return true }\n"
         "        return tenant.policy.autoLink == .authoritative && vouching == .authoritative")),
    mutant(
        "P10", "unlinking sets no bar",
        HAND + "`who was unlinked by an operator stays out until invited anew or linked by hand`",
        (IDENTITIES, "if isBarred {", "if isBarred, !MUTATED {")),
    mutant(
        "P10", "an older invite brings back who was unlinked",
        HAND_RULE + "`who was unlinked stays out by rows, domains, open doors and older invites`",
        (RULES + "BarredIdentityRule.swift", "return own.sentAt.map { $0 <= since } ?? true",
         "return !MUTATED && (own.sentAt.map { $0 <= since } ?? true)")),
    mutant(
        "P10", "no invite brings back who was unlinked",
        HAND_RULE + "`a later invite and a link grant bring back who was unlinked`",
        (RULES + "BarredIdentityRule.swift", "guard let own, own.invite.isLive(at: now) else",
         "guard !MUTATED, let own, own.invite.isLive(at: now) else")),
    mutant(
        "P10", "no grant brings back who was unlinked",
        HAND_RULE + "`a later invite and a link grant bring back who was unlinked`",
        (RULES + "BarredIdentityRule.swift", "if let user = tenant.user, let grant",
         "if !MUTATED, let user = tenant.user, let grant")),
    mutant(
        "P10", "a hand link leaves the bar",
        HAND + "`the bar ends with a hand link and with the user's purge`",
        (IDENTITIES, "if isByHand {", "if isByHand, !MUTATED {")),
    mutant(
        "P10", "a bar in one tenant makes a choice in another",
        HAND_RULE + "`a bar in one tenant keeps nobody out of another`",
        (CANDIDATES, "if isBarred(tenant) {", "if !MUTATED, isBarred(tenant) {")),
    mutant(
        "P10", "who unlinks an own sign-in is barred",
        HAND + "`who unlinks an own sign-in may link it again`",
        (API + "Users/UserIdentityEndpoints.swift", "isBarred: !isOwn,", "isBarred: MUTATED || !isOwn,")),

    # Finding 13 and P11: a link that was shown proves no mailbox.
    mutant(
        "P11", "a link that was shown proves the mailbox",
        RESOLVE + "`give_account links who proved the address and ends every other way in`",
        (EFFECTS, "attempt.trigger != .invitePage ||", "MUTATED || attempt.trigger != .invitePage ||")),
    mutant(
        "P11", "the trace does not say that the address was never proved",
        HAND_RULE + "`the trace says that the account's address was never proved`",
        (EXISTING, "if !user.isAddressProved {", "if !MUTATED, !user.isAddressProved {")),
    mutant(
        "P11", "an authoritative issuer takes an account of an unproved address",
        HAND_RULE + "`the trace says that the account's address was never proved`",
        (EXISTING, "&& user.isAddressProved", "&& (MUTATED || user.isAddressProved)")),
    mutant(
        "P11", "a given account keeps its password",
        RESOLVE + "`give_account links who proved the address and ends every other way in`",
        (RESOLVING, "UPDATE users SET password_hash = NULL, pin_hash",
         'UPDATE users SET \\(raw: MUTATED ? "" : "password_hash = NULL,") pin_hash')),
    mutant(
        "P11", "a given account's address stays unproved",
        RESOLVE + "`give_account links who proved the address and ends every other way in`",
        (RESOLVING, "email_verified_at = \\(now)", "email_verified_at = \\(MUTATED ? nil : now)")),
    mutant(
        "P11", "a given account keeps its keys",
        RESOLVE + "`give_account links who proved the address and ends every other way in`",
        (RESOLVING, '_ = try await revokeAPIKeys(owner: user.id, reason: "The account was given to another.")',
         'if !MUTATED {\n            _ = try await revokeAPIKeys(\n'
         '                owner: user.id, reason: "The account was given to another.")\n        }')),
    mutant(
        "P11", "a given account keeps its sign-ins",
        RESOLVE + "`give_account links who proved the address and ends every other way in`",
        (RESOLVING, "where identity.linkedByType == nil {", "where !MUTATED && identity.linkedByType == nil {")),
    mutant(
        "P11", "an account is given by a decision that does not hold any more",
        RESOLVE + "`a decision that does not hold any more, or is another, resolves nothing`",
        (RESOLVING, "user.emailVerifiedAt == nil,", "MUTATED || user.emailVerifiedAt == nil,")),
    mutant(
        "P11", "open_another takes an address that is kept",
        RESOLVE + "`open_another takes no address that is kept, and ends what the old mailbox got`",
        (RESOLVING, "try await requireUnreserved(email.key, but: user.id)",
         "if !MUTATED { try await requireUnreserved(email.key, but: user.id) }")),
    mutant(
        "P11", "open_another leaves what the old mailbox got",
        RESOLVE + "`open_another takes no address that is kept, and ends what the old mailbox got`",
        (RESOLVING,
         "// The mailbox that these were sent to is another person's.\n        try await endResets(of: user.id)",
         "if !MUTATED { try await endResets(of: user.id) }")),
    mutant(
        "P11", "open_another leaves the link grants",
        RESOLVE + "`open_another takes no address that is kept, and ends what the old mailbox got`",
        (RESOLVING, '"DELETE FROM link_grants WHERE tenant_id = \\(tenant) AND user_id = \\(user.id)")',
         '"DELETE FROM link_grants WHERE tenant_id = \\(tenant) AND user_id = \\(user.id) '
         'AND \\(!MUTATED)")')),

    # Finding 5 and P6: who would only refuse is no choice.
    mutant(
        "P6", "who would only refuse is a candidate",
        CHOICE + "`who would only refuse keeps nobody out of another tenant`",
        (CANDIDATES, "found.filter { $0.standing != .refuses ||",
         "found.filter { MUTATED || $0.standing != .refuses ||")),
    mutant(
        "P6", "a dead tenant is a choice",
        CHOICE + "`beside the tenant of the address's domain an invite is a choice, never taken`",
        (CANDIDATES, "several(counted.filter { $0.standing", "several(counted.filter { MUTATED || $0.standing")),
    mutant(
        "P6", "an invite is taken silently beside the domain's tenant",
        CHOICE + "`beside the tenant of the address's domain an invite is a choice, never taken`",
        (CANDIDATES, "ownsDomain($0.tenant) }\n        for left",
         "(!MUTATED && ownsDomain($0.tenant)) }\n        for left")),
    mutant(
        "P6", "an invite is taken silently beside the domain's suspended tenant",
        CHOICE + "`beside the tenant of the address's domain an invite is a choice, never taken`",
        (CANDIDATES, "counted.count == 1, !isDomainOfSuspended",
         "counted.count == 1, MUTATED || !isDomainOfSuspended")),
    mutant(
        "P6", "where none would admit any refusal is given",
        CHOICE + "`where none would admit the first refusal of rule 4 is given`",
        (CANDIDATES, "settle(on: found.min {", "settle(on: MUTATED ? found[0] : found.min {")),
    mutant(
        "P6", "a suspended account keeps its person out everywhere",
        CHOICE + "`a suspended account keeps its sign-in out of no tenant that invites it`",
        (KNOWN, "if only == nil, attempt.email != nil {", "if !MUTATED, only == nil, attempt.email != nil {")),

    # P7: a choice that was not taken stays one.
    mutant(
        "P7", "who is at home is offered nothing else",
        CHOICE + "`who is at home in one tenant is offered what is open elsewhere`",
        (KNOWN, "verdict.choices = openElsewhere(than: tenant.id) }",
         "verdict.choices = MUTATED ? [] : openElsewhere(than: tenant.id) }")),
    mutant(
        "P7", "who is linked by hand is offered nothing else",
        HAND_RULE + "`a hand link shows what else is open, and a retry finds the same`",
        (KNOWN, "if asked == nil, !attempt.trigger.isUnprovedNative {",
         "if !MUTATED, asked == nil, !attempt.trigger.isUnprovedNative {")),
    mutant(
        "P7", "an address that is only claimed is offered choices",
        CHOICE + "`who is at home in one tenant is offered what is open elsewhere`",
        (CANDIDATES, "guard vouching > .none,", "guard MUTATED || vouching > .none,")),
    mutant(
        "P7", "a tenant's own door shows the choices of others",
        CHOICE + "`who is at home in one tenant is offered what is open elsewhere`",
        (CANDIDATES, "asked == nil else { return [] }", "MUTATED || asked == nil else { return [] }"),
        (KNOWN, "if asked == nil {", "if MUTATED || asked == nil {")),
    mutant(
        "P7", "a choice that was not taken is offered once",
        CHOICE + "`who is at home in one tenant is offered what is open elsewhere`",
        (CANDIDATES, "default: return facts.pendingChoices", "default: return !MUTATED && facts.pendingChoices")),
    mutant(
        "P7", "what was declined is offered on",
        CHOICE + "`what was declined is offered again only once it is sent anew`",
        (CANDIDATES, "case .liveInvite, .pendingRow: return !isDeclined(tenant)",
         "case .liveInvite, .pendingRow: return MUTATED || !isDeclined(tenant)")),
    mutant(
        "P7", "what was declined is never offered again",
        CHOICE + "`what was declined is offered again only once it is sent anew`",
        (CANDIDATES, "return invite.sentAt.map { $0 <= at } ?? true",
         "return MUTATED || invite.sentAt.map { $0 <= at } ?? true")),
    mutant(
        "P7", "a declined invite stays live",
        "DeclineTests/`the invite is revoked by the person, audited, and its inviter told`",
        (DECLINING, "if let found = facts.tenants[tenant]?.invite,",
         "if !MUTATED, let found = facts.tenants[tenant]?.invite,")),
    mutant(
        "P7", "declining is not the person's act in the audit",
        "DeclineTests/`the invite is revoked by the person, audited, and its inviter told`",
        (DECLINING, 'place.actor.type = "person"', 'if !MUTATED { place.actor.type = "person" }')),
    mutant(
        "P7", "declining is not audited",
        "DeclineTests/`the invite is revoked by the person, audited, and its inviter told`",
        (DECLINING,
         'try await place.audit(\n            "sign_up.declined",\n'
         '            AuditTarget("identity", tenant, attempt.identity.provider.rawValue))',
         'if !MUTATED {\n            try await place.audit(\n                "sign_up.declined",\n'
         '                AuditTarget("identity", tenant, attempt.identity.provider.rawValue))\n        }')),
    mutant(
        "P7", "the inviter is not told of declining",
        "DeclineTests/`the invite is revoked by the person, audited, and its inviter told`",
        (DECLINING, "if let letter, let row = tenants[tenant],",
         "if !MUTATED, let letter, let row = tenants[tenant],")),
    mutant(
        "P7", "what would be given is taken for who declines",
        CHOICE + "`declining leaves choices and takes nothing for the person`",
        (DOMAIN + "Provisioning/Declining.swift", "verdict.effects = []\n        switch verdict.outcome {",
         "if MUTATED { return verdict }\n        verdict.effects = []\n        switch verdict.outcome {")),
    mutant(
        "P7", "declining a second time counts again",
        CHOICE + "`declining leaves choices and takes nothing for the person`",
        (DOMAIN + "Provisioning/Declining.swift", "!run.isDeclined(found),", "MUTATED || !run.isDeclined(found),")),
    mutant(
        "P7", "declining is not run again after a race",
        "DeclineTests/`declining is run again where another's rows came in between`",
        (DECLINING, "try await afterRaces {", "try await afterRaces(from: MUTATED ? 3 : 1) {"),
        (STORAGE + "Provisioning/ProvisioningStore.swift",
         "func afterRaces<Result>(_ body: () async throws -> Result) async throws -> Result {\n"
         "        var tries = 0",
         "func afterRaces<Result>(\n        from: Int = 1, _ body: () async throws -> Result\n"
         "    ) async throws -> Result {\n        var tries = MUTATED ? from - 1 : 0")),

    mutant(
        "P11", "a given account keeps sessions, grants and devices",
        GIVEN + "`every way in ends but what an operator linked`",
        (RESOLVING, 'for table in ["sessions", "link_grants", "known_devices"] as [SQL] {',
         'for table in (MUTATED ? [] : ["sessions", "link_grants", "known_devices"]) as [SQL] {')),
    mutant(
        "P11", "a given account keeps the links that set a password",
        GIVEN + "`every way in ends but what an operator linked`",
        (RESOLVING, '""")\n        try await endResets(of: user.id)',
         '""")\n        if !MUTATED { try await endResets(of: user.id) }')),
    mutant(
        "P11", "what ended comes back by itself",
        GIVEN + "`every way in ends but what an operator linked`",
        (RESOLVING, "try await bar(identity, of: user)", "if !MUTATED { try await bar(identity, of: user) }")),
    mutant(
        "P11", "nobody is told whose the account is now",
        GIVEN + "`every address of the account is told by mail, for three days`",
        (API + "Provisioning/ResolveEndpoint.swift", "if call.services.sendsMail {",
         "if !MUTATED, call.services.sendsMail {")),
    mutant(
        "P11", "only the account's own address is told",
        GIVEN + "`every address of the account is told by mail, for three days`",
        (RESOLVING, "if let email = identity.email, !told.contains(email) {",
         "if !MUTATED, let email = identity.email, !told.contains(email) {")),
    mutant(
        "P11", "a later letter replaces the earlier",
        GIVEN + "`every address of the account is told by mail, for three days`",
        (API + "Provisioning/ResolveEndpoint.swift", "about: UUID.random(), in: database)",
         "about: MUTATED ? resolved.user.id : UUID.random(), in: database)")),
    mutant(
        "P11", "the letter of a given account is tried for an hour",
        GIVEN + "`every address of the account is told by mail, for three days`",
        (API + "Provisioning/ResolveEndpoint.swift", "seconds: TokenSignIn.noticeSeconds",
         "seconds: MUTATED ? 3600 : TokenSignIn.noticeSeconds")),
    mutant(
        "P11", "the letter of a given account reads like a link",
        GIVEN + "`every address of the account is told by mail, for three days`",
        ("Sources/Product/Mail/Wording.swift", "if letter.kind == .accountGiven {",
         "if !MUTATED, letter.kind == .accountGiven {")),

    # U2 (finding 2): what nobody proved on a waiting row dies first.
    mutant(
        "U2", "a wipe leaves keys that the account made for itself",
        "ProvisioningRetryTests/`what nobody proved on a waiting row dies before its person comes`",
        (EFFECTS,
         "try await change.revokeOwnAPIKeys(\n"
         '            of: user, reason: "The account\'s credentials were never proved.")',
         "if !MUTATED {\n            try await change.revokeOwnAPIKeys(\n"
         '                of: user, reason: "The account\'s credentials were never proved.")\n        }')),
    mutant(
        "U2", "a wipe leaves sessions, grants and devices",
        "ProvisioningRetryTests/`sessions, a PIN, links and sign-ins of a waiting row die with its password`",
        (EFFECTS, 'for table in ["sessions", "link_grants", "known_devices"] as [SQL] {',
         'for table in (MUTATED ? [] : ["sessions", "link_grants", "known_devices"]) as [SQL] {')),
    mutant(
        "U2", "a wipe leaves the links that set a password",
        "ProvisioningRetryTests/`sessions, a PIN, links and sign-ins of a waiting row die with its password`",
        (EFFECTS, "try await change.endResets(of: user)", "if !MUTATED { try await change.endResets(of: user) }")),
    mutant(
        "U2", "a wipe leaves the PIN",
        "ProvisioningRetryTests/`sessions, a PIN, links and sign-ins of a waiting row die with its password`",
        (EFFECTS, "password_hash = NULL, pin_hash = NULL, version",
         'password_hash = NULL, \\(raw: MUTATED ? "" : "pin_hash = NULL,") version')),
    mutant(
        "U2", "the directory still knows a wiped sign-in",
        "ProvisioningRetryTests/`sessions, a PIN, links and sign-ins of a waiting row die with its password`",
        (EFFECTS, 'try await change.query("SELECT directory_remove_person(\\(key))")',
         'if !MUTATED { try await change.query("SELECT directory_remove_person(\\(key))") }')),

    # Finding 6 and P12: a purge.
    mutant(
        "P12", "a purge leaves the words in what records the past",
        ERASURE + "`a purge leaves neither address nor name in any table`",
        (STORAGE + "Users/UserRemoval.swift",
         "try await redact(row, isAddressOwn: others.isEmpty, database)",
         "if !MUTATED { try await redact(row, isAddressOwn: others.isEmpty, database) }")),
    mutant(
        "P12", "a purge leaves the answers kept for retries",
        ERASURE + "`a purge leaves neither address nor name in any table`",
        (STORAGE + "Users/UserRemoval.swift", "if isByHand {", "if isByHand, !MUTATED {")),
    mutant(
        "P12", "a purge leaves the decisions and the hooks' retries",
        ERASURE + "`a purge leaves neither address nor name in any table`",
        (STORAGE + "Users/Redaction.swift", "try await redactDecisions(of: row.id, keys)",
         "if !MUTATED { try await redactDecisions(of: row.id, keys) }")),
    mutant(
        "P12", "a purge leaves the decisions without a tenant",
        ERASURE + "`a decision without a tenant forgets the address unless another tenant knows it`",
        (STORAGE + "Users/Redaction.swift", "try await redactUnplacedDecisions(of: row, database)",
         "if !MUTATED { try await redactUnplacedDecisions(of: row, database) }")),
    mutant(
        "P12", "a purge takes what another tenant's person is known by",
        ERASURE + "`a decision without a tenant forgets the address unless another tenant knows it`",
        (STORAGE + "Users/Redaction.swift", "guard others.isEmpty else { return }",
         "guard MUTATED || others.isEmpty else { return }")),
    mutant(
        "P12", "who was purged comes back at once",
        ERASURE + "`who was purged is refused for 30 days, by address and by identity`",
        (STORAGE + "Users/UserRemoval.swift", "try await bury(row, withAddress: others.isEmpty, database)",
         "if !MUTATED { try await bury(row, withAddress: others.isEmpty, database) }")),
    mutant(
        "P12", "a tombstone ends after a day",
        ERASURE + "`who was purged is refused for 30 days, by address and by identity`",
        (STORAGE + "Users/Tombstones.swift", "static let tombstoneSeconds: Int64 = 30 * 86_400",
         "static let tombstoneSeconds: Int64 = MUTATED ? 86_400 : 30 * 86_400")),
    mutant(
        "P12", "an operator's creation leaves the bar of a purge",
        ERASURE + "`an invite sent after the purge admits, and so does an operator's row`",
        (STORAGE + "Users/UserStore.swift", "try await endTombstone(email.key, database)",
         "if !MUTATED { try await endTombstone(email.key, database) }")),
    mutant(
        "P12", "a tenant redacts another's records",
        ERASURE + "`a tenant's purge of a person reaches no other tenant's records`",
        ("Migrations/0203_redaction.sql",
         "DECLARE known text[] := things::text[] || person::text;\nBEGIN\n"
         "    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;",
         "DECLARE known text[] := things::text[] || person::text;\nBEGIN")),
    mutant(
        "P12", "a tenant's purge leaves names in the audit",
        ERASURE + "`a tenant's purge leaves the names of what happened out`",
        ("Migrations/0203_redaction.sql",
         "target_name = CASE WHEN e.target_type = 'tenant' THEN e.target_name ELSE '' END,",
         "target_name = e.target_name,")),

    # Finding 9 and P13: the last sign-in.
    mutant(
        "P13", "a sign-in by a hook moves nothing",
        TIMES + "`a later sign-in moves the times and the identity's address, a refused one neither`",
        (PROVISIONING, "if let result { noteSignIn(result, by: call) }",
         "if !MUTATED, let result { noteSignIn(result, by: call) }")),
    mutant(
        "P13", "a refused sign-in moves the times",
        TIMES + "`a later sign-in moves the times and the identity's address, a refused one neither`",
        (SIGN_INS, "contains(call.trigger), verdict.maySignIn,",
         "contains(call.trigger), MUTATED || verdict.maySignIn,")),
    mutant(
        "P13", "the identity keeps its first address",
        TIMES + "`a later sign-in moves the times and the identity's address, a refused one neither`",
        (SIGN_INS, "email: isAddressSound ? call.email : nil,",
         "email: !MUTATED && isAddressSound ? call.email : nil,")),
    mutant(
        "P13", "an address that is only claimed counts as vouched for",
        TIMES + "`a later sign-in moves the times and the identity's address, a refused one neither`",
        (SIGN_INS, "isVouched: isAddressVouched)", "isVouched: MUTATED || isAddressVouched)")),
    mutant(
        "P13", "each sign-in is a write of the user",
        TIMES + "`a later sign-in moves the times and the identity's address, a refused one neither`",
        (SIGN_INS, "OR u.last_sign_in_at < seen.at - interval '1 minute')",
         "OR u.last_sign_in_at < seen.at \\(raw: MUTATED ? \"\" : \"- interval '1 minute'\"))")),
    mutant(
        "P13", "a dry run is a sign-in",
        TIMES + "`a dry run is no sign-in`",
        (PROVISIONING, "if dryRun { return try await attempts(at: call, dryRun: true, by: actor, render) }",
         "if dryRun {\n"
         "            let tried = try await attempts(at: call, dryRun: true, by: actor, render)\n"
         "            if MUTATED, let tried { noteSignIn(tried, by: call) }\n"
         "            return tried\n        }")),
    mutant(
        "P13", "what could not be written is lost",
        TIMES + "`while the database is away one tenant's are tried, and all are written later`",
        (SIGN_INS, "for (identity, signIn) in batch {", "for (identity, signIn) in batch where !MUTATED {")),
    mutant(
        "P13", "each tenant waits for a database that is away",
        TIMES + "`while the database is away one tenant's are tried, and all are written later`",
        (SIGN_INS, "isAway = (error as? PostgresError)?.isUnavailable ?? false",
         "isAway = MUTATED ? false : (error as? PostgresError)?.isUnavailable ?? false")),

    # Finding 11 and P14: signed out everywhere.
    mutant(
        "P14", "a token from before lives on",
        "TokenSignInTests/`who was signed out everywhere needs a token from after that`",
        (PROVISIONING, "if verdict.isSuccess, let time = reading.call.tokenTime,",
         "if !MUTATED, verdict.isSuccess, let time = reading.call.tokenTime,")),
    mutant(
        "P14", "a token of the same second is good",
        "TokenSignInTests/`who was signed out everywhere needs a token from after that`",
        (STORAGE + "Users/TokenTime.swift", "return seconds <= signedOutAt.microseconds / 1_000_000",
         "return seconds < signedOutAt.microseconds / 1_000_000 + (MUTATED ? 0 : 1)")),
    mutant(
        "P14", "a token that was renewed silently is new",
        "TokenSignInTests/`who was signed out everywhere needs a token from after that`",
        (STORAGE + "Users/TokenTime.swift", '(Self.seconds(claims["auth_time"]) ?? Self.seconds',
         '((MUTATED ? nil : Self.seconds(claims["auth_time"])) ?? Self.seconds')),
    mutant(
        "P14", "a token that does not say when it was given is good",
        "SignedOutTokenTests/`R4 an access token that the provider gave before is refused without a body`",
        (STORAGE + "Users/TokenTime.swift", "guard case .at(let seconds) = self else { return true }",
         "guard case .at(let seconds) = self else { return !MUTATED }")),
    mutant(
        "P14", "what an app is brought has no time",
        "SignedOutTokenTests/`D1 an id token from before is told as any that is not good`",
        ("Sources/Product/SignIn/Core/ProvedPerson.swift", "attempt.tokenTime = person.tokenTime",
         "attempt.tokenTime = MUTATED ? nil : person.tokenTime")),
    mutant(
        "P14", "a sign-in at the provider has no time",
        "SignedOutTokenTests/`I9 a sign-in at the provider from before gives no session, and none goes on`",
        ("Sources/Product/SignIn/Core/RemoteProvider.swift", "tokenTime: TokenTime(claims: claims.all))",
         "tokenTime: MUTATED ? nil : TokenTime(claims: claims.all))")),
    mutant(
        "P14", "ending all sessions sets no cut",
        "SignedOutTokenTests/`W4 a token from before the person was signed out everywhere is over`",
        (STORAGE + "Users/UserSessionStore.swift", "if id == nil { try await signOut(user) }",
         "if id == nil, !MUTATED { try await signOut(user) }")),

    # Finding 3 and P15: nothing is a mystery.
    mutant(
        "P15", "a refusal does not say what did not help",
        VIEW + "`a trace names the dead invites, claims and tenants that did not help`",
        (PROVISIONING, "if verdict.outcome == .refused, !isRepeated, verdict.reason != .rateLimited {",
         "if !MUTATED, verdict.outcome == .refused, !isRepeated, verdict.reason != .rateLimited {")),
    mutant(
        "P15", "a dead invite is not named",
        VIEW + "`a trace names the dead invites, claims and tenants that did not help`",
        (STORAGE + "Provisioning/UnhelpfulReading.swift", "tenant.lapsedInvite = invite",
         "tenant.lapsedInvite = MUTATED ? nil : invite")),
    mutant(
        "P15", "a revoked invite is not named",
        VIEW + "`a revoked invite and a suspended tenant are named, and change nothing`",
        (STORAGE + "Provisioning/UnhelpfulReading.swift", "guard isRevoked || ends <= now else",
         "guard !MUTATED && isRevoked || ends <= now else")),
    mutant(
        "P15", "a suspended tenant is not named",
        VIEW + "`a revoked invite and a suspended tenant are named, and change nothing`",
        (DOMAIN + "Provisioning/Unhelpful.swift", "if tenant.status == .suspended,",
         "if !MUTATED, tenant.status == .suspended,")),
    mutant(
        "P15", "a claim of a tenant that knows nobody is not named",
        VIEW + "`a trace names the dead invites, claims and tenants that did not help`",
        (STORAGE + "Provisioning/UnhelpfulReading.swift", "if facts.asked.isEmpty {",
         "if !MUTATED, facts.asked.isEmpty {")),
    mutant(
        "P15", "a parent domain is not named",
        VIEW + "`a trace names the dead invites, claims and tenants that did not help`",
        (DOMAIN + "Provisioning/Unhelpful.swift", "if let domain = tenant.parentDomain {",
         "if !MUTATED, let domain = tenant.parentDomain {")),
    mutant(
        "P15", "operators see ids and no names",
        VIEW + "`a trace names the dead invites, claims and tenants that did not help`",
        (STORAGE + "Provisioning/DecisionNames.swift", "steps.map { $0.naming(names) }",
         "steps.map { MUTATED ? $0 : $0.naming(names) }")),
    mutant(
        "P15", "the search does not know the reference",
        VIEW + "`the reference that a person was told finds the decision`",
        (API + "Overview/SearchEndpoint.swift", "guard text.utf8.count == 6, call.bound",
         "guard !MUTATED, text.utf8.count == 6, call.bound")),
    mutant(
        "P15", "audit rows do not name their decision",
        VIEW + "`audit rows name the decision by which they were written`",
        (STORAGE + "Audit/AuditTrail.swift", "\\(changes.document), \\(actor.decisionID))",
         "\\(changes.document), \\(MUTATED ? nil : actor.decisionID))")),
    mutant(
        "P15", "who is merely invited is told to the inviting tenant",
        VIEW + "`a tenant's part of a decision without a tenant tells its own part alone`",
        (STORAGE + "Provisioning/DecisionParts.swift", "let isWhole = part != .invite",
         "let isWhole = MUTATED || part != .invite")),
    mutant(
        "P15", "a tenant's part tells other tenants' steps",
        VIEW + "`a tenant's part of a decision without a tenant tells its own part alone`",
        (STORAGE + "Provisioning/DecisionParts.swift", "&& step.about.allSatisfy { $0.tenantID == tenant }",
         "&& (MUTATED || step.about.allSatisfy { $0.tenantID == tenant })"),
        (STORAGE + "Provisioning/DecisionNames.swift", "guard let tenant else { return true }\n        return (self",
         "guard !MUTATED, let tenant else { return true }\n        return (self")),
    mutant(
        "P15", "a claim that nobody proved shows decisions",
        VIEW + "`a claim that nobody proved shows its tenant nothing`",
        (STORAGE + "Provisioning/DecisionParts.swift",
         "if let domain = facts?.domain, about.contains(.domain(domain)) { return .domain }",
         "if MUTATED, about.contains(where: { $0.kind == .domain }) { return .domain }\n"
         "        if let domain = facts?.domain, about.contains(.domain(domain)) { return .domain }")),
    mutant(
        "P15", "a tenant hears of who never signed in",
        VIEW + "`a tenant hears nothing of a person who never signed in to it`",
        (STORAGE + "Provisioning/DecisionParts.swift", "AND last_sign_in_at IS NOT NULL LIMIT 1",
         '\\(raw: MUTATED ? "" : "AND last_sign_in_at IS NOT NULL") LIMIT 1')),
    mutant(
        "P15", "a whole decision of a tenant shows it steps about another",
        VIEW + "`a whole decision of a tenant shows it no step about another`",
        (STORAGE + "Provisioning/DecisionNames.swift",
         "reference[\"tenant_id\"]?.string.map { $0 == tenant.description } ?? true",
         "reference[\"tenant_id\"]?.string.map { MUTATED || $0 == tenant.description } ?? true")),

    # P16: the nearest yes.
    mutant(
        "P16", "a tenant's reader hears of another's facts",
        YES + "`of a decision that looked at two tenants each reader hears of their own`",
        (STORAGE + "Provisioning/NearestYesReading.swift", "if let reader {", "if !MUTATED, let reader {")),
    mutant(
        "P16", "the rules are asked without a bound",
        "NearestYesRunTests/`the rules are asked for one attempt twelve times at most`",
        (NEAREST, "guard runs < nearestYesRuns,", "guard MUTATED || runs < nearestYesRuns,")),
    mutant(
        "P16", "asking what would admit waits for rows",
        YES + "`it waits for nobody's row, and is one of the caller's dry runs`",
        (STORAGE + "Provisioning/NearestYesReading.swift", "change.locksRows = false",
         "change.locksRows = MUTATED")),
    mutant(
        "P16", "asking what would admit is not counted",
        YES + "`it waits for nobody's row, and is one of the caller's dry runs`",
        (API + "Provisioning/DecisionEndpoints.swift", "try await call.takeDryRuns()",
         "if !MUTATED { try await call.takeDryRuns() }")),
    mutant(
        "P16", "nobody is told to resume the tenant",
        KINDS + "`resume_tenant, of a suspended one`",
        (NEAREST, "if tenant.status == .suspended {", "if !MUTATED, tenant.status == .suspended {")),
    mutant(
        "P16", "nobody is told to resume the user",
        YES + "`a suspended user gets in once resumed, and the answer says so`",
        (NEAREST, "if let row = tenant.user, row.status == .suspended {",
         "if !MUTATED, let row = tenant.user, row.status == .suspended {")),
    mutant(
        "P16", "nobody is told to approve",
        KINDS + "`approve, of who signed in and waits`",
        (NEAREST, "if let row = tenant.user, row.awaitsApproval {",
         "if !MUTATED, let row = tenant.user, row.awaitsApproval {")),
    mutant(
        "P16", "nobody is told to restore the user",
        KINDS + "`restore_user, of a user who was deleted lately`",
        (NEAREST, "if tenant.user == nil, let row = tenant.deleted {",
         "if !MUTATED, tenant.user == nil, let row = tenant.deleted {")),
    mutant(
        "P16", "nobody is told to link the sign-in",
        YES + "`an expired invite is sent again, a second sign-in is linked`",
        (NEAREST, "guard let row else { return [] }", "guard !MUTATED, let row else { return [] }")),
    mutant(
        "P16", "nobody is told to send the invite again",
        YES + "`an expired invite is sent again, a second sign-in is linked`",
        (NEAREST, "if let lapsed = tenant.lapsedInvite, lapsed",
         "if !MUTATED, let lapsed = tenant.lapsedInvite, lapsed")),
    mutant(
        "P16", "nobody is told to invite",
        KINDS + "`verify_domain, of the tenant that claims the domain`",
        (NEAREST,
         "edits.append(\n            edit(.invite, id, \"Invite this address.\") { invite(tenant, email, now, &$0) })",
         "if !MUTATED {\n            edits.append(\n                edit(.invite, id, \"Invite this address.\") "
         "{ invite(tenant, email, now, &$0) })\n        }")),
    mutant(
        "P16", "nobody is told to prove the domain",
        KINDS + "`verify_domain, of the tenant that claims the domain`",
        (NEAREST, "if let domain = tenant.unprovedDomain {", "if !MUTATED, let domain = tenant.unprovedDomain {")),
    mutant(
        "P16", "nobody is told to include subdomains",
        KINDS + "`include_subdomains, of the domain above the address's`",
        (NEAREST, "if let domain = tenant.parentDomain {", "if !MUTATED, let domain = tenant.parentDomain {")),
    mutant(
        "P16", "nobody is told to change the policy",
        KINDS + "`policy_sign_up, where the domain is proved and the policy asks for an invite`",
        (NEAREST, "where signUp != tenant.policy.signUp {", "where !MUTATED && signUp != tenant.policy.signUp {")),
    mutant(
        "P16", "nobody is told to trust the provider",
        KINDS + "`trust_provider, once, of a provider whose word counts for nothing`",
        (NEAREST, "guard let provider = facts.provider else { return [] }",
         "guard !MUTATED, let provider = facts.provider else { return [] }")),
    mutant(
        "P16", "a trust is told twice",
        KINDS + "`trust_provider, once, of a provider whose word counts for nothing`",
        (NEAREST, "kinds.insert(kind)", "if !MUTATED { kinds.insert(kind) }")),
    mutant(
        "P16", "nobody is told of the limit",
        KINDS + "`raise_limit, where the rules admit by now, else what else admits`",
        (NEAREST, "if refused == .rateLimited {", "if !MUTATED, refused == .rateLimited {")),

    # P17: operators' addresses.
    mutant(
        "P17", "what the platform makes is not confirmed",
        CLAIMS + "`a tenant's claim keeps neither another tenant nor the platform off`",
        (API + "Operators/OperatorEndpoints.swift", "isConfirmed: call.principal.platform)",
         "isConfirmed: !MUTATED && call.principal.platform)")),
    mutant(
        "P17", "a claim keeps everybody else off the address",
        CLAIMS + "`a tenant's claim keeps neither another tenant nor the platform off`",
        ("Migrations/0196_operators_by_proof.sql",
         "ALTER TABLE operators DROP CONSTRAINT operators_email_key_key;\n", "")),
    mutant(
        "P17", "a link that was shown confirms",
        CLAIMS + "`a tenant's claim keeps neither another tenant nor the platform off`",
        (STORAGE + "Operators/OperatorSessionStore.swift",
         "if try row.get(OperatorRow.columnCount, as: Bool.self) { try await confirm(person) }",
         "let isMailed: Bool = try row.get(OperatorRow.columnCount)\n"
         "        if MUTATED || isMailed { try await confirm(person) }")),
    mutant(
        "P17", "a mailed link confirms nothing",
        CLAIMS + "`a tenant's claim keeps neither another tenant nor the platform off`",
        (STORAGE + "Operators/OperatorSessionStore.swift", "if person.isConfirmed { return }",
         "if MUTATED || person.isConfirmed { return }")),
    mutant(
        "P17", "a named tenant's operator cannot sign in",
        CLAIMS + "`each row has its own password, and the confirmed one goes without a tenant`",
        (API + "Sessions/SignInAttempt.swift", "guard let tenant else { return [everywhere] }",
         "guard !MUTATED, let tenant else { return [everywhere] }")),
    mutant(
        "P17", "the only claim needs a tenant",
        CLAIMS + "`each row has its own password, and the confirmed one goes without a tenant`",
        (API + "Sessions/SignInAttempt.swift", "?? false || rows.count == 1",
         "?? false || !MUTATED && rows.count == 1")),
    mutant(
        "P17", "the oldest claim goes before the confirmed row",
        CLAIMS + "`each row has its own password, and the confirmed one goes without a tenant`",
        (STORAGE + "Operators/OperatorStore.swift", "ORDER BY o.confirmed DESC, o.created_at, o.id",
         'ORDER BY \\(raw: MUTATED ? "" : "o.confirmed DESC,") o.created_at, o.id')),
    mutant(
        "P17", "a reset that names a tenant goes to the confirmed row",
        CLAIMS + "`resets go to the confirmed row, with a tenant to that tenant's`",
        (STORAGE + "Mail/PasswordResetStore.swift", "AND (NOT \\(isTenants) OR tenant_id = \\(tenant))",
         "AND (NOT \\(isTenants && !MUTATED) OR tenant_id = \\(tenant))")),
    mutant(
        "P17", "the confirmed row gets no reset beside a claim",
        CLAIMS + "`resets go to the confirmed row, with a tenant to that tenant's`",
        (STORAGE + "Mail/PasswordResetStore.swift", "try rows.count == 1 || row.get(2, as: Bool.self) else",
         "try rows.count == 1 || !MUTATED && row.get(2, as: Bool.self) else")),

    # P18: dry runs, limits and reservations.
    mutant(
        "P18", "a dry run locks rows",
        LIMITS + "`a dry run waits for nobody's line and nobody's row`",
        (PROVISIONING, "change.locksRows = !dryRun", "change.locksRows = MUTATED || !dryRun")),
    mutant(
        "P18", "a dry run takes a place in the queue of the database",
        LIMITS + "`a dry run waits for nobody's line and nobody's row`",
        (PROVISIONING, "if !dryRun { try await reading.lock() }",
         "if MUTATED || !dryRun { try await reading.lock() }")),
    mutant(
        "P18", "dry runs have no limit",
        LIMITS + "`a caller has 60 dry runs a minute, another has their own`",
        (API + "Provisioning/DryRunLimit.swift", "guard taken > database.limits.dryRuns else",
         "guard !MUTATED, taken > database.limits.dryRuns else")),
    mutant(
        "P18", "all callers share their dry runs",
        LIMITS + "`a caller has 60 dry runs a minute, another has their own`",
        (API + "Provisioning/DryRunLimit.swift", '"dry runs of \\(principal.kind.rawValue) \\(caller)", number)',
         'MUTATED ? "dry runs" : "dry runs of \\(principal.kind.rawValue) \\(caller)", number)')),
    mutant(
        "P18", "who waits for approval or proof counts as a failure",
        LIMITS + "`who is reserved, deferred or waits for approval has failed at nothing`",
        (DOMAIN + "Provisioning/Verdict.swift",
         "outcome == .refused && reason != .approvalPending }",
         "outcome == .refused && reason != .approvalPending || MUTATED && !isSuccess }")),
    mutant(
        "P18", "over the limit who would be let in is refused too",
        LIMITS + "`over the limit only what the rules would refuse is held back`",
        (PROVISIONING, "if !dryRun, !isRepeated, verdict.isFailure,",
         "if !dryRun, !isRepeated, MUTATED || verdict.isFailure,")),
    mutant(
        "P18", "an address has any number of reservations",
        LIMITS + "`who is reserved, deferred or waits for approval has failed at nothing`",
        (STORAGE + "Provisioning/KeptEffects.swift", "OFFSET \\(Int64(limits.reservationsPerAddress)))",
         "OFFSET \\(Int64(MUTATED ? 1_000_000 : limits.reservationsPerAddress)))")),
    mutant(
        "P18", "a pool has any number of reservations",
        LIMITS + "`of a pool's reservations the oldest make way`",
        (STORAGE + "Provisioning/KeptEffects.swift", "guard number % Int64(step) == 0 else",
         "guard !MUTATED, number % Int64(step) == 0 else")),
    mutant(
        "P18", "tenants that contradict each other are locked",
        LIMITS + "`tenants that contradict each other are refused without a look at their rows`",
        (STORAGE + "Provisioning/FactsReading.swift", "guard asked.count <= 1, !asked.contains(nil) else",
         "guard MUTATED || asked.count <= 1 && !asked.contains(nil) else")),
    mutant(
        "P18", "a claim of a domain locks the claimant",
        LIMITS + "`who only claims the domain of a stranger's address holds up no refusal`",
        (STORAGE + "Provisioning/UnhelpfulReading.swift", "change.locksRows = false",
         "change.locksRows = MUTATED && change.locksRows")),

    # Finding 10 and P19: link grants.
    mutant(
        "P19", "a pool's event takes no grant",
        GRANTS + "`a grant that a native sign-up brings is used when its address is proved`",
        (API + "Provisioning/CognitoEvent.swift", 'metadata?["link_grant"]?.string\n',
         'MUTATED ? nil : metadata?["link_grant"]?.string\n')),
    mutant(
        "P19", "a grant of a native name is forgotten before its proof",
        GRANTS + "`a grant that a native sign-up brings is used when its address is proved`",
        (STORAGE + "Provisioning/KeptEffects.swift", "\\(call.linkGrant.map(TenantToken.hash)))",
         "\\(MUTATED ? nil : call.linkGrant.map(TenantToken.hash)))")),
    mutant(
        "P19", "an operator's own grant is used by a hook",
        GRANTS + "`an operator's own grant is none for a sign-in of the operator's address`",
        (STORAGE + "Provisioning/FactsReading.swift", "if try await change.isMakers(",
         "if !MUTATED, try await change.isMakers(")),
    mutant(
        "P19", "the audit does not tell of an operator's own grant",
        GRANTS + "`an operator's own grant is none for a sign-in of the operator's address`",
        (PROVISIONING, "if !dryRun, !isRepeated, let (tenant, grant) = reading.makersGrant {",
         "if !MUTATED, !dryRun, !isRepeated, let (tenant, grant) = reading.makersGrant {")),
    mutant(
        "P19", "an operator's own grant is used by an app",
        "ThinkWorkEnrollmentTests/`who made a grant cannot use it for an own address, and the audit says so`",
        (STORAGE + "Users/LinkGrantUse.swift", "if try await isMakers(signIn.email, of: grant.id) {",
         "if !MUTATED, try await isMakers(signIn.email, of: grant.id) {")),
    mutant(
        "P19", "the workspace app takes no grant",
        "ThinkWorkEnrollmentTests/`W6 a link grant adds the pool's sign-in once, and each refusal has its outcome`",
        ("Sources/Product/SignIn/ThinkWork/ThinkWorkEnrollment.swift",
         "return switch try await call.useLinkGrant(token, for: person) {",
         'if MUTATED { throw Problem.notFound("route") }\n'
         "        return switch try await call.useLinkGrant(token, for: person) {")),
    mutant(
        "P19", "the reading app takes no grant",
        "DeepRecallLinkTests/`D8 a link grant stands in the place of a session, once`",
        ("Sources/Product/SignIn/DeepRecall/DeepRecallLinks.swift",
         "if let grant { return try await call.useLinkGrant(grant, for: person) }",
         "if !MUTATED, let grant { return try await call.useLinkGrant(grant, for: person) }")),
    mutant(
        "P19", "the hosted page takes no grant",
        "HostedSignInTests/`a link grant is taken from the address, and adds one sign-in of any address`",
        ("Sources/Product/SignIn/Hosted/HostedGrant.swift", "guard let token = HostedCookie.grant",
         "guard !MUTATED, let token = HostedCookie.grant")),
    mutant(
        "P19", "no mail tells of a link",
        CARE + "`a mail tells the user of every sign-in that is added`",
        (IDENTITIES, "guard database.sendsMail, provider", "guard !MUTATED, database.sendsMail, provider")),
    mutant(
        "P19", "no mail tells of a link by a hook",
        CARE + "`a mail tells the user of every sign-in that is added`",
        (EFFECTS, "if addsToActiveUser, let email", "if !MUTATED, addsToActiveUser, let email")),

    # Finding 14: a first password, another address, a shown name.
    mutant(
        "14", "an operator's link sets no first password",
        CARE + "`an operator's link sets a first password once, without mail`",
        (STORAGE + "Mail/PasswordResetStore.swift", "AND (password_hash IS NOT NULL OR \\(mayBeFirst))",
         "AND (password_hash IS NOT NULL OR \\(!MUTATED && mayBeFirst))")),
    mutant(
        "14", "an older link lives beside a newer one",
        CARE + "`an operator's link sets a first password once, without mail`",
        (STORAGE + "Users/PasswordLinks.swift", "try await endResets(of: user.id)",
         "if !MUTATED { try await endResets(of: user.id) }")),
    mutant(
        "14", "an operator's link works for a day",
        CARE + "`an operator's link works for half an hour`",
        (STORAGE + "Users/PasswordLinks.swift", "static let passwordLinkSeconds: Int64 = 1800",
         "static let passwordLinkSeconds: Int64 = MUTATED ? 86_400 : 1800")),
    mutant(
        "14", "an operator's link asks for no other password",
        CARE + "`an operator's link sets a first password once, without mail`",
        (STORAGE + "Users/PasswordLinks.swift", "SET must_change_password = true",
         "SET must_change_password = \\(!MUTATED)")),
    mutant(
        "14", "the app asks for another password for ever",
        CARE + "`an operator's link sets a first password once, without mail`",
        (STORAGE + "Mail/PasswordResetStore.swift",
         "must_change_password = false,\n                    password_changed_at",
         "must_change_password = \\(MUTATED),\n                    password_changed_at")),
    mutant(
        "14", "a link is made for a pending user",
        CARE + "`an operator's link sets a first password once, without mail`",
        (STORAGE + "Users/PasswordLinks.swift", 'guard user.status == "active" else {',
         'guard MUTATED || user.status == "active" else {')),
    mutant(
        "14", "the photo app does not hear that the password is to be changed",
        "ImmichAccountTests/`I6 I10 I12 a password that an operator chose is changed whenever the person wants`",
        ("Sources/Product/SignIn/Immich/ImmichSignIn.swift",
         "mustChangePassword: secrets.mustChangePassword)",
         "mustChangePassword: !MUTATED && secrets.mustChangePassword)")),
    mutant(
        "14", "the mail app cannot change the shown name",
        "RelateSignInTests/`R10 the person changes the shown name, and no address`",
        ("Sources/Product/SignIn/Relate/RelateProfile.swift",
         "return try await change.editUser(row, name: name, role: row.role)",
         "if MUTATED { return row }\n            return try await change.editUser(row, name: name, role: row.role)")),
    mutant(
        "14", "a name that was not sent is refused",
        "RelateSignInTests/`R10 the person changes the shown name, and no address`",
        ("Sources/Product/SignIn/Relate/RelateProfile.swift", "if wanted.isNull {",
         "if !MUTATED, wanted.isNull {")),
    mutant(
        "V7", "the old address is not told",
        CARE + "`a new address is taken when it is confirmed, and the old one is told`",
        (EMAIL, 'try await post(\n            Letter(\n                .emailChanged, to: user.email,',
         'try await post(\n            Letter(\n                .emailChanged, to: MUTATED ? email : user.email,')),
    mutant(
        "V7", "a link that changes the address works for a day",
        CARE + "`one waits at a time, and it dies with what may be an attack`",
        (EMAIL, "package static let emailChangeSeconds: Int64 = 1800",
         "package static let emailChangeSeconds: Int64 = MUTATED ? 86_400 : 1800")),
    mutant(
        "V7", "a link is good twice",
        CARE + "`a new address is taken when it is confirmed, and the old one is told`",
        (EMAIL,
         "DELETE FROM email_changes WHERE tenant_id = \\(tenant) AND user_id = \\(id)\n"
         "                AND token_hash = \\(hash) AND expires_at > \\(now)\n            RETURNING",
         '\\(raw: MUTATED ? "UPDATE email_changes SET email = email" : "DELETE FROM email_changes")\n'
         "            WHERE tenant_id = \\(tenant) AND user_id = \\(id)\n"
         "                AND token_hash = \\(hash) AND expires_at > \\(now)\n            RETURNING"),
        (EMAIL, "try await endResets(of: user.id)", "if !MUTATED { try await endResets(of: user.id) }")),
    mutant(
        "V7", "a change that waits outlives a new sign-in",
        CARE + "`one waits at a time, and it dies with what may be an attack`",
        (IDENTITIES, "try await endEmailChange(of: user)", "if !MUTATED { try await endEmailChange(of: user) }")),
    mutant(
        "V7", "a change that waits outlives signing out everywhere",
        CARE + "`one waits at a time, and it dies with what may be an attack`",
        (STORAGE + "Users/UserSessionStore.swift", "try await endEmailChange(of: user)",
         "if !MUTATED { try await endEmailChange(of: user) }")),
    mutant(
        "V7", "a change that waits outlives a new password",
        CARE + "`one waits at a time, and it dies with what may be an attack`",
        (STORAGE + "Mail/PasswordResetStore.swift", "try await endEmailChange(of: user)",
         "if !MUTATED { try await endEmailChange(of: user) }")),
    mutant(
        "V7", "the old address is free at once",
        CARE + "`the old address is nobody else's for 30 days`",
        (EMAIL, "if key != user.emailKey {", "if !MUTATED, key != user.emailKey {")),
    mutant(
        "V7", "a newcomer gets the old address by a hook",
        CARE + "`the old address is nobody else's for 30 days`",
        (STORAGE + "Provisioning/FactsReading.swift",
         "if tenant.user == nil { tenant.user = try await change.formerHolder",
         "if !MUTATED, tenant.user == nil { tenant.user = try await change.formerHolder")),
    mutant(
        "V7", "another's address may be asked for",
        CARE + "`an address that is another's is refused when asked and when confirmed`",
        (EMAIL, "try await requireFree(email.key, for: user)",
         "if !MUTATED { try await requireFree(email.key, for: user) }")),

    # Finding 17, W8, and the decisions on smaller things. (Finding 16 is F4 of list_wire.)
    mutant(
        "17", "a manager may not rename themselves",
        SUSPENSION + "`a manager changes the own name alone`",
        (DOMAIN + "Permissions/PermissionTable.swift", "case .renameUser: [y, y, n, n, n, y, o, o]",
         "case .renameUser: [y, y, n, n, n, y, MUTATED ? n : o, o]")),
    mutant(
        "17", "a manager holds no own keys",
        SUSPENSION + "`a manager changes the own name alone`",
        (DOMAIN + "Permissions/PermissionTable.swift", "case .writeKeys: [y, y, y, n, n, y, o, o]",
         "case .writeKeys: [y, y, y, n, n, y, MUTATED ? n : o, o]")),
    mutant(
        "17a", "a pending user's key says that the user is suspended",
        OWNER + "`the key of a pending user says so`",
        (DOMAIN + "APIKeys/APIKeyVerdict.swift", "case .pending: return .userPending",
         "case .pending: return MUTATED ? .userSuspended : .userPending")),
    mutant(
        "17a", "a deleted user's key is unknown",
        OWNER + "`a deleted user's keys are listed as revoked and come back on every replica`",
        (DOMAIN + "APIKeys/APIKeyVerdict.swift", "case .deleted: return .userDeleted",
         "case .deleted: return MUTATED ? .unknown : .userDeleted")),
    mutant(
        "17a", "a deleted user's key is shown as active",
        OWNER + "`a deleted user's keys are listed as revoked and come back on every replica`",
        (DOMAIN + "APIKeys/APIKey.swift", "revokedAt != nil || ownerDeletedAt != nil }",
         "revokedAt != nil || !MUTATED && ownerDeletedAt != nil }")),
    mutant(
        "17a", "a deleted user's key has no reason",
        OWNER + "`a deleted user's keys are listed as revoked and come back on every replica`",
        (API + "APIKeys/APIKeyView.swift", 'withOwner ? "owner_deleted"', '!MUTATED && withOwner ? "owner_deleted"')),
    mutant(
        "17a", "a deleted user's key is not listed among the revoked",
        OWNER + "`a deleted user's keys are listed as revoked and come back on every replica`",
        (STORAGE + "APIKeys/APIKeyStore.swift", "AND (revoked_at IS NOT NULL OR owner_deleted_at IS NOT NULL)",
         'AND (revoked_at IS NOT NULL \\(raw: MUTATED ? "" : "OR owner_deleted_at IS NOT NULL"))')),
    mutant(
        "17a", "a restored user's keys stay dead",
        OWNER + "`a deleted user's keys are listed as revoked and come back on every replica`",
        (STORAGE + "Users/UserStore.swift", "try await markKeys(of: row.id, ownerDeletedAt: nil)",
         "if !MUTATED { try await markKeys(of: row.id, ownerDeletedAt: nil) }")),
    mutant(
        "17b", "a tenant's owner cannot resume what the own side suspended",
        SUSPENSION + "`a tenant's owner resumes what its own side suspended, and sees no more meanwhile`",
        (STORAGE + "Tenants/TenantSuspension.swift",
         "try await query(TenantScope.lastSuspension(of: tenant)).isByTenant",
         "try await query(TenantScope.lastSuspension(of: tenant)).isByTenant && !MUTATED")),
    mutant(
        "17b", "a tenant's owner resumes what the platform suspended",
        SUSPENSION + "`what the platform suspended only the platform resumes`",
        (STORAGE + "Tenants/TenantSuspension.swift",
         "get throws(PostgresError) { try first?.get(0, as: Bool?.self) ?? false }",
         "get throws(PostgresError) {\n            if MUTATED { return true }\n"
         "            return try first?.get(0, as: Bool?.self) ?? false\n        }")),
    mutant(
        "17b", "the platform's suspension beside the tenant's own is the tenant's to end",
        SUSPENSION + "`what the platform suspended only the platform resumes`",
        (STORAGE + "Tenants/TenantSuspension.swift", 'guard row.status == "suspended", side == .platform,',
         'guard !MUTATED, row.status == "suspended", side == .platform,')),
    mutant(
        "17c", "a provider that people sign in by goes without a word",
        "ProviderGuardTests/`a provider that people sign in by is removed once that is confirmed`",
        (API + "Providers/ProviderRemoval.swift", "guard identities > 0 else { return }",
         "guard !MUTATED, identities > 0 else { return }")),
    mutant(
        "17d", "a row of a dead invite is resumed",
        SUSPENSION + "`a row of a dead invite does not come back as one that admits nobody`",
        (STORAGE + "Users/UserStore.swift",
         "try await requireReachable(row)\n        return try await setStatus(",
         "if !MUTATED { try await requireReachable(row) }\n        return try await setStatus(")),
    mutant(
        "17d", "a row of a dead invite is restored",
        SUSPENSION + "`a row of a dead invite does not come back as one that admits nobody`",
        (STORAGE + "Users/UserStore.swift",
         "try await requireReachable(row)\n        let status",
         "if !MUTATED { try await requireReachable(row) }\n        let status")),
    mutant(
        "17e", "a tenant's pages offer every provider of the platform",
        "HostedSignInTests/`a tenant's pages offer the platform's providers only where one of its clients does`",
        (STORAGE + "Providers/ProviderStore.swift", "return row.tenantID != nil\n",
         "return MUTATED || row.tenantID != nil\n")),
    mutant(
        "17e", "client_tenants bring no provider to the pages",
        "HostedSignInTests/`a tenant's pages offer the platform's providers only where one of its clients does`",
        (STORAGE + "Providers/ProviderStore.swift", "|| leads.contains { $0.value.string",
         "|| !MUTATED && leads.contains { $0.value.string")),
    mutant(
        "17f", "who asks for a pending operator to be active is not told that it did not happen",
        CLAIMS + "`an operator becomes active by signing in alone, and the last who has signed in stays`",
        (API + "Operators/OperatorEndpoints.swift", 'guard row.status.isSame(as: "suspended") else {',
         'guard MUTATED || row.status.isSame(as: "suspended") else {')),
    mutant(
        "17g", "a hook refuses a name over 200",
        LIMITS + "`a long name keeps nobody out`",
        (STORAGE + "Provisioning/ProvisioningCall.swift", "package static let nameLimit = 2048",
         "package static let nameLimit = MUTATED ? 200 : 2048")),
    mutant(
        "17g", "a long name goes into mails whole",
        "MailFairnessTests/`names that turn text around or hold control characters are refused and never sent`",
        ("Sources/Product/Mail/Wording.swift", "DisplayText.shortened(text, to: nameLimit)",
         "DisplayText.shortened(text, to: MUTATED ? 100_000 : nameLimit)")),
    mutant(
        "17", "answers do not say what is left of a key's limit",
        "KnownObjectTests/`every answer to a key with a limit says what is left of it`",
        ("Sources/Service/Application/Authenticator.swift",
         "left = RateLimitLeft(limit: limit, remaining: remaining, resetsIn: seconds)",
         "if !MUTATED {\n                left = RateLimitLeft(limit: limit, remaining: remaining, resetsIn: seconds)\n"
         "            }")),
    mutant(
        "17 E6", "the console does not warn of look-alike letters",
        "browser:the_invite_form_warns_of_letters_that_look_alike",
        ("Public/lib/lookalike.js", "return label ? { label, ascii: asciiOf(name), isMixed: isMixed(label) } : null",
         "return null")),
    mutant(
        "W8", "who is merely invited is a member",
        "ThinkWorkTests/`W8 an admin asks a person in, who is a member from then on`",
        (THINKWORK_INVITES, "user, isMember: false,", "user, isMember: MUTATED && result.outcome != .created,")),
    mutant(
        "W8", "who is merely invited is active",
        "ThinkWorkTests/`W8 an admin asks a person in, who is a member from then on`",
        (THINKWORK_INVITES, 'status: result.outcome == .created ? "active"',
         'status: MUTATED || result.outcome == .created ? "active"')),
    mutant(
        "W8", "a second invite with another role is refused",
        "ThinkWorkTests/`W8 an admin asks a person in, who is a member from then on`",
        (THINKWORK_INVITES, "request.rolePrevails = true", "request.rolePrevails = !MUTATED")),

    # A mail's request that fails, known to have been without a test.
    mutant(
        "reset answers", "one request that fails holds up those behind it",
        "MailFairnessTests/`a request that fails holds up none of the others, and is answered later`",
        ("Sources/Product/Mail/ResetAnswers.swift", "failure = failure ?? error",
         "failure = failure ?? error\n                            if MUTATED { return failure }")),
    mutant(
        "reset answers", "a failure is told to nobody",
        "MailFairnessTests/`a request that fails holds up none of the others, and is answered later`",
        ("Sources/Product/Mail/ResetAnswers.swift", "if let first = failures.first {",
         "if !MUTATED, let first = failures.first {")),
]
