"""What whoever runs it found: connections, secret keys, backups, start and stop, faults of PostgreSQL, documents."""
from mutant import mutant

CROWD = "BudgetTests/`a crowd on every loop opens no more than the budget, and all get their turn`"
ROTATION = "SecretKeyTests/`a rotation that is begun again at any point ends with nothing on the old key`"
FOREIGN = "CommandLineTests/`a secret key that is not the database's stops check, serve and every command`"
SCHEMA = "CommandLineTests/`serve and the other commands say that the schema is missing or behind`"
SERVE = "CommandLineTests/`serve tells of its start, its reload and its end, and of nothing that is secret`"
CHECK = "CommandLineTests/`check finds a good database good and says what is wrong with others`"
TYPED = "CommandLineTests/`a mistyped word ends with 2 and the nearest name`"
SCOPES = "DocumentedExamplesTests/`scopes are named as they are granted, and no right by its inner name`"
LINE = "OperationTests/`a line of the log says who asked, of which tenant, and how an unknown path begins`"
METRICS = "OperationTests/`metrics count requests by route and status class, and show pools and memory`"

POSTGRES = "Sources/Platform/Postgres"
COMMANDS = "Sources/Service/Application/CommandLine"
SECRETS = "Sources/Product/Storage/Secrets"
OPENAPI = "Sources/Product/API/OpenAPI"

MUTANTS = [
    # 1.1 connections
    mutant(
        "O1.1", "pools borrow beyond the budget", CROWD,
        (f"{POSTGRES}/ConnectionBudget.swift",
         "guard state.spare > rest else { return false }",
         "guard MUTATED || state.spare > rest else { return false }"),
    ),
    mutant(
        "O1.1", "what is not needed stays open", CROWD,
        (f"{POSTGRES}/PoolOpening.swift",
         "for writer in idle where writer.isIdle {", "for writer in idle where !MUTATED && writer.isIdle {"),
    ),
    mutant(
        "O1.1", "check does not compare with max_connections",
        "CommandLineTests/`check says that PostgreSQL has no room for what the process may open`",
        (f"{COMMANDS}/ConnectionCheck.swift", "if limit > room {", "if !MUTATED, limit > room {"),
    ),
    mutant(
        "O1.1", "readyz asks a reader alone",
        "ServerFaultTests/`who gets no connection for writes is not ready, though reads go on`",
        (f"{POSTGRES}/Postgres.swift",
         "hasLivingWriter() ? read(sql) : mark(sql)",
         "hasLivingWriter() ? read(sql) : MUTATED ? read(sql) : mark(sql)"),
    ),
    # 1.2 the secret key
    mutant(
        "O1.2", "a key that does not open the canary is taken",
        "SecretKeyTests/`a key that the canary was not written with is refused`",
        (f"{SECRETS}/SecretKeyAdmission.swift",
         "guard (try? canarySealer.open(sealed, context: id)) == Self.canary,\n"
         "                secrets.seal(with: id)\n",
         "guard MUTATED\n"
         "                || (try? canarySealer.open(sealed, context: id)) == Self.canary\n"
         "                    && secrets.seal(with: id)\n"),
    ),
    mutant(
        "O1.2", "a canary is written over what another key sealed",
        "SecretKeyTests/`no canary is written over what another key sealed`",
        (f"{SECRETS}/SecretKeyAdmission.swift",
         "guard foreign.isEmpty else { throw", "guard MUTATED || foreign.isEmpty else { throw"),
    ),
    mutant(
        "O1.2", "commands work with another key", FOREIGN,
        (f"{COMMANDS}/OfflineService.swift",
         "if needsSecrets { try await", "if !MUTATED, needsSecrets { try await"),
    ),
    mutant(
        "O1.2", "check passes another key", FOREIGN,
        (f"{COMMANDS}/SecretChecks.swift",
         'return [Finding(name: "secret key", result: .failed, detail: "\\(error)")]',
         'return [Finding(name: "secret key", result: MUTATED ? .ok : .failed, detail: "\\(error)")]'),
    ),
    mutant(
        "O1.2", "the key is switched under a replica that does not know it",
        "SecretKeyTests/`the key is not switched while a replica knows one alone`",
        (f"{SECRETS}/SecretKeyRotation.swift",
         "guard count == 0 else { throw", "guard MUTATED || count == 0 else { throw"),
    ),
    mutant(
        "O1.2", "a rotation leaves one kind of secrets behind", ROTATION,
        (f"{SECRETS}/SecretKeyRotation.swift",
         "for place in SealedPlace.allCases {\n            while true {",
         "for place in SealedPlace.allCases where !MUTATED || place != .providerSecrets {\n            while true {"),
    ),
    mutant(
        "O1.2", "a rotation forgets former addresses", ROTATION,
        (f"{SECRETS}/SecretKeyRotation.swift",
         "keys += try await formerAddressKeys(of: users)",
         "if !MUTATED { keys += try await formerAddressKeys(of: users) }"),
    ),
    mutant(
        "O1.2", "a rotation leaves people under the old key", ROTATION,
        (f"{SECRETS}/SecretKeyRotation.swift",
         '_ = try await scope.write("SELECT directory_keep_people(\\([secrets.current.id]))")',
         'if !MUTATED { _ = try await scope.write("SELECT directory_keep_people(\\([secrets.current.id]))") }'),
    ),
    mutant(
        "O1.2", "what a lost key sealed stays",
        "SecretKeyTests/`without a lost key the rest goes on, and people are found`",
        (f"{SECRETS}/SecretKeyRemains.swift",
         "for place in SealedPlace.allCases { _ = try", "for place in SealedPlace.allCases where !MUTATED { _ = try"),
    ),
    # 1.3 backup
    mutant(
        "O1.3", "check takes a restore without rows for good",
        "CommandLineTests/`a restore without rows is told from a good one`",
        (f"{COMMANDS}/DatabaseChecks.swift", "guard empty == 0 else {", "guard MUTATED || empty == 0 else {"),
    ),
    # 1.5 the schema
    mutant(
        "O1.5", "commands and serve do not say that the schema is behind", SCHEMA,
        (f"{COMMANDS}/SchemaState.swift",
         '"the schema is older than this program', 'MUTATED ? nil : "the schema is older than this program'),
    ),
    mutant(
        "O1.5", "serve starts on an empty database", SCHEMA,
        ("Sources/Service/Application/ServeCommand.swift",
         "if let blocker = found.first {",
         'if let blocker = found.first(where: { !MUTATED || !$0.detail.contains("no schema") }) {'),
    ),
    # 1.6 start, reload and end
    mutant(
        "O1.6", "a server that leaves stays ready",
        "WireRulesTests/`a service that is told to stop is not ready, and serves on`",
        ("Sources/Service/Application/Site.swift",
         "if departure.hasBegun {", "if !MUTATED, departure.hasBegun {"),
    ),
    mutant(
        "O1.6", "a server that leaves keeps its connections",
        "LeavingTests/`a server that leaves goes on, and each answer is its connection's last`",
        ("Sources/Platform/Serving/Worker.swift",
         "func prepareToLeave() { isLeaving = true }", "func prepareToLeave() { isLeaving = !MUTATED }"),
    ),
    mutant(
        "O1.6", "SIGHUP kills", SERVE,
        ("Sources/Service/Application/Signals.swift",
         "for number in [SIGINT, SIGTERM, SIGHUP] {",
         "for number in MUTATED ? [SIGINT, SIGTERM] : [SIGINT, SIGTERM, SIGHUP] {"),
    ),
    mutant(
        "O1.6", "a renewed certificate is not shown",
        "RenewedCertificateTests/`a renewed certificate is shown to whoever connects next`",
        ("Sources/Platform/Serving/Worker.swift",
         "listeners[index].tls = tls", "if !MUTATED { listeners[index].tls = tls }"),
    ),
    mutant(
        "O1.6", "a clean stop warns of a lost connection", SERVE,
        (f"{POSTGRES}/NotificationListener.swift",
         'if !pool.closed { configuration.log("postgres.listen.lost"',
         'if MUTATED || !pool.closed { configuration.log("postgres.listen.lost"'),
    ),
    mutant(
        "O1.6", "nothing is said of the end", SERVE,
        ("Sources/Service/Application/ServeCommand.swift",
         'logger.log(.info, "stopped")', 'if !MUTATED { logger.log(.info, "stopped") }'),
    ),
    mutant(
        "O1.12", "no line says with what the service starts", SERVE,
        ("Sources/Service/Application/ServeCommand.swift",
         'logger.log(.info, "starting", StartLine.fields(settings, configuration))',
         'if !MUTATED { logger.log(.info, "starting", StartLine.fields(settings, configuration)) }'),
    ),
    # 1.7 check
    mutant(
        "O1.7", "check does not say why it cannot connect", CHECK,
        (f"{COMMANDS}/Checks.swift",
         "if let finding = checks.unreachable() {", "if !MUTATED, let finding = checks.unreachable() {"),
    ),
    mutant(
        "O1.7", "a wrong certificate is told as a raw value",
        "CommandLineTests/`check says what is wrong with a certificate in words`",
        (f"{COMMANDS}/Checks.swift",
         'return Finding(name: "tls", result: .failed, detail: "\\(error)")',
         'return Finding(name: "tls", result: .failed, detail: MUTATED ? "badCertificate" : "\\(error)")'),
    ),
    mutant(
        "O1.7", "an app role with another's rights passes",
        "CommandLineTests/`check fails on an app role that has another's rights`",
        (f"{COMMANDS}/DatabaseChecks.swift",
         "if let other = try row.get(4, as: String?.self) {",
         "if !MUTATED, let other = try row.get(4, as: String?.self) {"),
    ),
    # 1.8 raw values
    mutant(
        "O1.8", "a port in use is told at the end and as a raw value",
        "CommandLineTests/`a port that is in use is named before anything else is done`",
        ("Sources/Service/Application/ServeCommand.swift",
         "try ListenFault.check(settings)", "if !MUTATED { try ListenFault.check(settings) }"),
    ),
    mutant(
        "O1.8", "a bad address is told as a raw value",
        "CommandLineTests/`an address that is none is refused in words`",
        (f"{COMMANDS}/AdministrationCommand.swift",
         'throw Refused(description: "--email \\(error.mend)")',
         'throw Refused(description: MUTATED ? "\\(error)" : "--email \\(error.mend)")'),
    ),
    mutant(
        "O1.8", "half a command is an unknown one", TYPED,
        (f"{COMMANDS}/CommandParser.swift",
         "if let group = try helpOfGroup(words) {", "if !MUTATED, let group = try helpOfGroup(words) {"),
    ),
    mutant(
        "O1.8", "help takes no command", TYPED,
        (f"{COMMANDS}/CommandParser.swift",
         'if command.name == "help", let first', 'if !MUTATED, command.name == "help", let first'),
    ),
    # 1.9 documents
    mutant(
        "O1.9", "the documents name rights that nobody grants", SCOPES,
        (f"{OPENAPI}/AccessDocument.swift",
         'scopes(name).first.map { "the scope `\\($0)`" } ??',
         'MUTATED ? "`\\(name)`" : scopes(name).first.map { "the scope `\\($0)`" } ??'),
    ),
    mutant(
        "O1.9", "examples hold what the server refuses",
        "DocumentedExamplesTests/`every documented body is taken as it stands`",
        ("Sources/Product/API/Shapes/Example.swift",
         "return isRequired || example != nil ||", "return MUTATED || isRequired || example != nil ||"),
    ),
    mutant(
        "O1.9", "members and parameters are not described",
        "DocumentedExamplesTests/`every member and every parameter is described`",
        (f"{OPENAPI}/Vocabulary.swift",
         "static func description(of name: String) -> String? { members[name] }",
         "static func description(of name: String) -> String? { MUTATED ? nil : members[name] }"),
    ),
    mutant(
        "O1.9", "the page shows a body as an example alone",
        "DocumentedExamplesTests/`the page says of each member of a body what it has to be`",
        (f"{OPENAPI}/DocumentPage.swift",
         'fields(media.value["schema"], isInput: true)',
         'if !MUTATED { fields(media.value["schema"], isInput: true) }'),
    ),
    # 1.10 statistics
    mutant(
        "O1.10", "a large list is planned as in an empty database",
        "GrownTablesTests/`a second large list of invites is planned with what the first has written`",
        ("Sources/Product/API/Invites/InviteAsking.swift",
         "if requests.count >= Database.largeWrite {", "if !MUTATED, requests.count >= Database.largeWrite {"),
    ),
    # 1.11 faults of PostgreSQL
    mutant(
        "O1.11", "a read-only server is a fault of ours",
        "ServerFaultTests/`a read-only server is unavailable for writes, is named, and reads go on`",
        (f"{POSTGRES}/PostgresError.swift",
         'case "57014", "55P03": self.init(.timeout, message)',
         'case "25006" where MUTATED:\n'
         '            self.init(.server(sqlstate: state, message: message, constraint: nil), message)\n'
         '        case "57014", "55P03": self.init(.timeout, message)'),
    ),
    mutant(
        "O1.11", "a full disk is a fault of ours", "ServerFaultTests/`a fault of the server is told by its name`",
        (f"{POSTGRES}/PostgresError.swift",
         'case "57P01", "57P02", "57P03", "57P05",',
         'case "53100" where MUTATED:\n'
         '            self.init(.server(sqlstate: state, message: message, constraint: nil), message)\n'
         '        case "57P01", "57P02", "57P03", "57P05",'),
    ),
    mutant(
        "O1.11", "the log does not name the fault", "ServerFaultTests/`a fault of the server is told by its name`",
        (f"{POSTGRES}/PoolOpening.swift",
         "guard let name = error.fault, faultLog", "guard !MUTATED, let name = error.fault, faultLog"),
    ),
    mutant(
        "O1.11", "a COMMIT that was refused is unknown",
        "ServerFaultTests/`a COMMIT that the server refuses for want of room is not unknown`",
        (f"{POSTGRES}/Transaction.swift",
         "guard error.isUnavailable, !error.saysNothingWritten else",
         "guard error.isUnavailable, MUTATED || !error.saysNothingWritten else"),
    ),
    mutant(
        "O1.11", "a read-only server is ready",
        "ServerFaultTests/`a read-only server is unavailable for writes, is named, and reads go on`",
        (f"{POSTGRES}/Postgres.swift",
         "return try rows.first?.get(0, as: Bool.self) ?? false",
         "return try MUTATED ? true : rows.first?.get(0, as: Bool.self) ?? false"),
    ),
    # 1.12 smaller
    mutant(
        "O1.12", "a request under way has the code of any conflict",
        "KeptAnswerQuotaTests/`a retry while the first call runs has a code of its own`",
        ("Sources/Product/API/Kernel/Idempotency.swift",
         ".requestInProgress, \"The first", "MUTATED ? .conflict : .requestInProgress, \"The first"),
    ),
    mutant(
        "O1.12", "If-None-Match is ignored",
        "KnownObjectTests/`an object that the caller has is 304, until it changes`",
        ("Sources/Product/API/Kernel/NotModified.swift", "guard isKnown else", "guard !MUTATED, isKnown else"),
    ),
    mutant(
        "O1.12", "what is left of a limit is told with 429 alone",
        "KnownObjectTests/`every answer to a key with a limit says what is left of it`",
        ("Sources/Product/API/Kernel/Dispatcher.swift",
         "if let left = exchange.call.principal.rateLimit {",
         "if !MUTATED, let left = exchange.call.principal.rateLimit {"),
    ),
    mutant(
        "O1.12", "an operator becomes active by another's word",
        "OperatorClaimsTests/`an operator becomes active by signing in alone, and the last who has signed in stays`",
        ("Sources/Product/API/Operators/OperatorEndpoints.swift",
         'guard asked.isSame(as: "active"), row.lastSignInAt == nil,',
         'guard !MUTATED, asked.isSame(as: "active"), row.lastSignInAt == nil,'),
    ),
    mutant(
        "O1.12", "an owner who never signed in counts as one that stays",
        "OperatorClaimsTests/`an operator becomes active by signing in alone, and the last who has signed in stays`",
        ("Sources/Product/Storage/Operators/OperatorChanges.swift",
         'one.status.utf8.elementsEqual("active".utf8), one.lastSignInAt != nil',
         'one.status.utf8.elementsEqual("active".utf8), MUTATED || one.lastSignInAt != nil'),
    ),
    mutant(
        "O1.12", "the log names neither tenant nor caller", LINE,
        ("Sources/Service/Application/Composition.swift",
         "if let tenant = record.tenant { fields", "if !MUTATED, let tenant = record.tenant { fields"),
    ),
    mutant(
        "O1.12", "the log says nothing of an unknown path", LINE,
        ("Sources/Product/API/Kernel/Exchange.swift",
         "if match == nil { record", "if !MUTATED, match == nil { record"),
    ),
    mutant(
        "O1.12", "the metrics do not tell the version", METRICS,
        ("Sources/Service/Application/Operation/ServiceMetrics.swift",
         ").set(1)\n", ").set(MUTATED ? 0 : 1)\n"),
    ),
    mutant(
        "O1.12", "no bucket ends at a tenth of a second", METRICS,
        ("Sources/Platform/Observability/Metrics.swift",
         "50_000_000, 100_000_000, 250_000_000,", "50_000_000, MUTATED ? 104_857_600 : 100_000_000, 250_000_000,"),
    ),
    mutant(
        "O1.9", "refusals have schemas of their own",
        "DocumentedExamplesTests/`every refusal is the one Problem by reference`",
        (f"{OPENAPI}/Operation.swift",
         '.string("#/components/schemas/Problem")',
         '.string(MUTATED ? "#/components/schemas/Refusal" : "#/components/schemas/Problem")'),
    ),
    mutant(
        "O1.9", "what cannot be read is a problem of no type",
        "WireRulesTests/`what cannot be read is refused by a problem of our own type`",
        ("Sources/Platform/Serving/ProblemAnswer.swift",
         '"{\\"type\\":\\"urn:gatehouse:problem:\\(code)\\",',
         '"{\\"type\\":\\"\\(MUTATED ? "about:blank" : "urn:gatehouse:problem:" + code)\\",'),
    ),
]
