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
        ("Sources/Product/API/Pipeline/MergedReplay.swift",
         "document.replacingIDs(as: kind) { winners[$0] ?? $0 }.encoded())",
         "document.replacingIDs(as: kind) { MUTATED ? $0 : winners[$0] ?? $0 }.encoded())"),
    ),
    mutant(
        "merges", "a retry shows the winner to who may not read users",
        "MergedReplayTests/`a retry about a loser is a conflict for who may not read users`",
        ("Sources/Product/API/Pipeline/MergedReplay.swift",
         "guard hooks.authorize(call.principal, endpoint.access, call) == nil else {",
         "guard MUTATED || hooks.authorize(call.principal, endpoint.access, call) == nil else {"),
    ),
    mutant(
        "merges", "a retried merge loses its loser",
        "MergedReplayTests/`a retried merge still names its loser`",
        ("Sources/Product/API/Pipeline/MergedReplay.swift",
         "guard !Self.asGiven.contains(where: { sameBytes($0, member.name) }),",
         "guard MUTATED || !Self.asGiven.contains(where: { sameBytes($0, member.name) }),"),
    ),
]
