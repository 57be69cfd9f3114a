"""The findings on the directory: duplicates, jobs, imports."""

from mutant import mutant

MUTANTS = [
    mutant(
        "merges", "a stored response shows the loser",
        "MergedReplayTests/`the retried creation of a loser answers with the winner, until the undo`",
        ("Sources/Product/API/Pipeline/Idempotency.swift",
         "var response = try await followingMerges(kept, of: endpoint, exchange)",
         "var response = MUTATED ? kept : try await followingMerges(kept, of: endpoint, exchange)"),
    ),
    mutant(
        "merges", "a stored key names the loser as its owner",
        "MergedReplayTests/`a retried key of a loser is the winner's, with its secret`",
        ("Sources/Product/API/Pipeline/Idempotency.swift",
         "document.replacingIDs(as: kind) { winners[$0] ?? $0 }.encoded())",
         "document.replacingIDs(as: kind) { MUTATED ? $0 : winners[$0] ?? $0 }.encoded())"),
    ),
    mutant(
        "merges", "a retry shows the winner to who may not read users",
        "MergedReplayTests/`a retry about a loser is a conflict for who may not read users`",
        ("Sources/Product/API/Pipeline/Idempotency.swift",
         "guard endpoint.access.refusal(call.principal, in: call.resolvedTenant?.id) == nil else {",
         "guard MUTATED || endpoint.access.refusal(call.principal, in: call.resolvedTenant?.id) == nil\n"
         "        else {"),
    ),
    mutant(
        "merges", "a retried merge loses its loser",
        "MergedReplayTests/`a retried merge still names its loser`",
        ("Sources/Product/API/Pipeline/Idempotency.swift",
         "guard !Self.asGiven.contains(where: { sameBytes($0, member.name) }),",
         "guard MUTATED || !Self.asGiven.contains(where: { sameBytes($0, member.name) }),"),
    ),
    mutant(
        "merges", "a bulk action on a merged id names nobody",
        "BulkTests/`a merged id is a conflict that names the winner`",
        ("Sources/Product/API/Bulk/BulkEndpoints.swift",
         "if let other = result.conflictingID {",
         "if !MUTATED, let other = result.conflictingID {"),
    ),
    mutant(
        "merges", "a job's report names nobody for a merged id",
        "BulkJobTests/`the report of a job names the winner of a merged id`",
        ("Sources/Product/Storage/Jobs/JobBatch.swift",
         "result.conflictingID = try found.get(7)",
         "if !MUTATED { result.conflictingID = try found.get(7) }"),
    ),
    mutant(
        "merges", "the winner's own address is called the other account's",
        "MergeMailTests/`both addresses are told of a merge and of its undoing`",
        ("Sources/Product/Storage/Merges/Merging.swift",
         "message: kind == .mergeUndone ? other : winner.email,",
         "message: !MUTATED && kind == .mergeUndone ? other : winner.email,"),
    ),
    mutant(
        "merges", "sign-ins that were never proved move",
        "MergeScopeTests/`a password and sign-ins that were never proved do not move`",
        ("Sources/Product/Storage/Merges/Merging.swift",
         "AND (email_verified OR \\(loser.status) <> 'pending' OR linked_by_type IS NOT NULL)",
         "AND (\\(MUTATED) OR email_verified OR \\(loser.status) <> 'pending' OR linked_by_type IS NOT NULL)"),
    ),
    mutant(
        "jobs", "a process works on more jobs than it has lanes",
        "JobTurnTests/`a process works on four jobs at most`",
        ("Sources/Product/API/Jobs/JobRunner.swift",
         "guard busy.add(1, ordering: .relaxed).newValue <= Self.lanes else { return }",
         "guard busy.add(1, ordering: .relaxed).newValue <= (MUTATED ? 99 : Self.lanes) else { return }"),
    ),
    mutant(
        "jobs", "a long job keeps its turn",
        "JobTurnTests/`a long job gives way to another tenant's when its slice ends`",
        ("Sources/Product/API/Jobs/JobRunner.swift",
         "if stops || clock.now - start > slice {",
         "if stops || !MUTATED && clock.now - start > slice {"),
    ),
    mutant(
        "imports", "a purge finds waiting rows by address alone",
        "ImportRefusalTests/`a purge finds the rows that name the person otherwise than by the address`",
        ("Sources/Product/Storage/Users/UserRemoval.swift",
         "let staged = row.stagedKeys + keys",
         "let staged = (MUTATED ? [] : row.stagedKeys) + keys"),
    ),
    mutant(
        "imports", "a purge leaves waiting rows with an unverified address",
        "ImportRefusalTests/`a purge finds the rows that name the person otherwise than by the address`",
        ("Sources/Product/Storage/Users/UserRow.swift",
         "keys + keys.map { ~$0 }",
         "keys + (MUTATED ? [] : keys.map { ~$0 })"),
    ),
    mutant(
        "imports", "a batch gives roles that its maker may not",
        "ImportRefusalTests/`an importer can neither give nor change a role above their own`",
        ("Sources/Product/Storage/Imports/ImportFacts.swift",
         "if !rules.roles.contains(user.role ?? .member) {",
         "if !MUTATED, !rules.roles.contains(user.role ?? .member) {"),
    ),
    mutant(
        "imports", "an unlinked sign-in comes back with a file",
        "ImportRefusalTests/`the dead and the unlinked do not come back with a file`",
        ("Sources/Product/Storage/Imports/ImportFacts.swift",
         "if barred.contains(identity.key) {",
         "if !MUTATED, barred.contains(identity.key) {"),
    ),
]
