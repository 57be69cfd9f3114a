"""What was tried on the wire: empty bodies, one deadline for a request, RFC 9110 and 9112, what names tell."""
from mutant import mutant

EMPTY = "EmptyBodyTests/`an announced body that did not come is 400 at every operation, and nothing changes`"
CODED = "EmptyBodyTests/`a coded body is 415, and two types are 400`"
SILENT = "SilentDatabaseTests/`no answer is later than its deadline, and service goes on without a restart`"
UNKNOWN = "RequestTimeTests/`what may have been committed is answered as unknown, and nothing is afterwards`"
TIMES = "OperationTimesTests/`each operation has five seconds, a hook half of them, a list of invites thirty`"
ABSOLUTE = "RequestParserTests/`an absolute target is read, and its authority counts as the host`"
CORPUS = "RequestParserTests/`a request is accepted or refused as the corpus says`"
REDIRECTS = (
    "HostBindingTests/`redirect addresses name no user, no pattern, and go in the clear only to this machine`")

HTTP = "Sources/Platform/HTTP"
KERNEL = "Sources/Product/API/Kernel"

MUTANTS = [
    # An empty JSON body (F3)
    mutant(
        "F3", "an announced body that did not come acts as an empty object", EMPTY,
        (f"{KERNEL}/Steps.swift",
         "guard case .json(let shape) = endpoint.body, request.body.isEmpty,",
         "guard !MUTATED, case .json(let shape) = endpoint.body, request.body.isEmpty,"),
    ),
    mutant(
        "F3", "a PUT without a byte and without a type sets nothing to nothing",
        "EmptyBodyTests/`a PUT without a byte sets nothing, whatever it announces`",
        (f"{KERNEL}/Steps.swift",
         "request.method == .put || mediaType(of: request)",
         "!MUTATED && request.method == .put || mediaType(of: request)"),
    ),
    mutant(
        "F3", "all keys of a tenant end without a reason",
        "EmptyBodyTests/`a verb without a body goes on as before, and all keys end only with a reason`",
        ("Sources/Product/API/APIKeys/APIKeyEndpoints.swift",
         '.required(\n                        "reason", .string(min: 1, max: 500), "For the list and the audit."),',
         'FieldShape(\n                        "reason", .string(min: 1, max: 500), required: !MUTATED, nullable: false,\n'
         '                        "For the list and the audit."),'),
    ),
    # One deadline (F4)
    mutant(
        "F4", "a request has no end of its own",
        "SilentDatabaseTests/`one time holds for all that a request waits for`",
        (f"{KERNEL}/Dispatcher.swift",
         "Deadline.current?.last(exchange.time)", "Deadline.current?.last(MUTATED ? .seconds(60) : exchange.time)"),
    ),
    mutant(
        "F4", "a hook has the time of any request", TIMES,
        (f"{KERNEL}/Endpoint.swift",
         "package static let hookTime: Duration = .milliseconds(2500)",
         "package static let hookTime: Duration = MUTATED ? .seconds(5) : .milliseconds(2500)"),
    ),
    mutant(
        "F4", "a list of invites has the time of any request", TIMES,
        (f"{KERNEL}/Endpoint.swift",
         "self.time = time ?? (hook", "self.time = (MUTATED ? nil : time) ?? (hook"),
    ),
    mutant(
        "F4", "readyz has the time of any request", SILENT,
        ("Sources/Service/Application/Site.swift",
         "Deadline.current?.last(Self.readinessTime)",
         "Deadline.current?.last(MUTATED ? .seconds(5) : Self.readinessTime)"),
    ),
    mutant(
        "F4", "nobody answers for a handler that does not",
        "RequestTimeTests/`a handler that does not answer is answered for, and the connection goes on`",
        ("Sources/Platform/Serving/ConnectionRequests.swift",
         "if !hasAnswered { startClock(", "if !MUTATED, !hasAnswered { startClock("),
    ),
    mutant(
        "F4", "an endpoint cannot have more time",
        "RequestTimeTests/`a handler may ask for more time, and what follows the head is not counted`",
        ("Sources/Platform/Deadlines/Deadline.swift",
         "state.withLock { $0.end = end }", "if !MUTATED { state.withLock { $0.end = end } }"),
    ),
    mutant(
        "F4", "statements are begun for a request that is over",
        "ServerFaultTests/`nothing is begun for a request whose time is over`",
        ("Sources/Platform/Postgres/Postgres.swift",
         "if deadline.isOver { throw", "if !MUTATED, deadline.isOver { throw"),
    ),
    mutant(
        "F4", "a wait for a connection has a time of its own",
        "ServerFaultTests/`a wait for a connection ends with its request's time`",
        ("Sources/Platform/Postgres/Postgres.swift",
         "latest = deadline.endOfWaits", "latest = MUTATED ? .max : deadline.endOfWaits"),
    ),
    mutant(
        "F4", "what was answered as not done is committed", UNKNOWN,
        ("Sources/Platform/Deadlines/Deadline.swift",
         "guard !state.isOver else { return false }", "guard MUTATED || !state.isOver else { return false }"),
    ),
    mutant(
        "F4", "a COMMIT on its way is answered as nothing written", UNKNOWN,
        ("Sources/Platform/Deadlines/Deadline.swift",
         "state.hasCommitted = true", "state.hasCommitted = !MUTATED"),
    ),
    mutant(
        "F4", "a change is committed after its answer",
        "LateChangeTests/`a change whose request was answered before is not committed`",
        ("Sources/Product/Storage/Idempotency/HeldChange.swift",
         "if let deadline = Deadline.current, !deadline.mayCommit() {",
         "if !MUTATED, let deadline = Deadline.current, !deadline.mayCommit() {"),
    ),
    mutant(
        "F4", "what may have been written is run again",
        "IdempotencyTests/`what may have been written is not run again under its key`",
        (f"{KERNEL}/Idempotency.swift",
         "if problem.code == .commitUnknown { throw problem }",
         "if !MUTATED, problem.code == .commitUnknown { throw problem }"),
    ),
    # Addresses (F5, F7)
    mutant(
        "F5", "endpoints may be plain http",
        "ProviderGuardTests/`endpoints are https URLs without a user and a fragment`",
        ("Sources/Product/API/Providers/ProviderInput.swift",
         "where !(member.value.string.map(RelyingParty.isSafeAddress) ?? false) {",
         "where !MUTATED && !(member.value.string.map(RelyingParty.isSafeAddress) ?? false) {"),
    ),
    mutant(
        "F5", "an endpoint may have a fragment",
        "ProviderGuardTests/`endpoints are https URLs without a user and a fragment`",
        ("Sources/Product/Federation/RelyingParty.swift",
         '!text.utf8.contains(UInt8(ascii: "#"))', '(MUTATED || !text.utf8.contains(UInt8(ascii: "#")))'),
    ),
    mutant(
        "F5", "a redirect goes in the clear to any machine", REDIRECTS,
        ("Sources/Product/API/Clients/RedirectURI.swift",
         'guard let origin = origin(text), sameBytes(origin.scheme, "http")',
         'guard !MUTATED, let origin = origin(text), sameBytes(origin.scheme, "http")'),
    ),
    mutant(
        "F5", "a redirect may name a user", REDIRECTS,
        ("Sources/Product/API/Clients/RedirectURI.swift",
         'if authority?.contains(UInt8(ascii: "@")) ?? false',
         'if !MUTATED, authority?.contains(UInt8(ascii: "@")) ?? false'),
    ),
    mutant(
        "F5", "a redirect may hold a pattern", REDIRECTS,
        ("Sources/Product/API/Clients/RedirectURI.swift",
         '$0 != UInt8(ascii: "*")', '(MUTATED || $0 != UInt8(ascii: "*"))'),
    ),
    mutant(
        "F7", "an issuer is any text", "ProviderGuardTests/`an issuer is an https URL and nothing else`",
        ("Sources/Product/Federation/RelyingParty.swift",
         'isSafeAddress(text) && !text.utf8.contains(UInt8(ascii: "?"))',
         'MUTATED || isSafeAddress(text) && !text.utf8.contains(UInt8(ascii: "?"))'),
    ),
    mutant(
        "F7", "names inside are told from names that are not there",
        "OutboundFairnessTests/`names inside are not told apart from names that are not there`",
        ("Sources/Platform/Outbound/OutboundMessages.swift",
         '.unreachable: "unreachable"', '.unreachable: MUTATED ? rawValue : "unreachable"'),
    ),
    # Absolute form (F6)
    mutant(
        "F6", "absolute form is refused", ABSOLUTE,
        (f"{HTTP}/RequestParser.swift",
         "guard base[target] == 0x2F || base[target] == 0x2A else {",
         "guard MUTATED || base[target] == 0x2F || base[target] == 0x2A else {"),
    ),
    mutant(
        "F6", "beside absolute form the Host field counts", ABSOLUTE,
        (f"{HTTP}/RequestParser.swift",
         "if head.authoritySpan.count > 0,", "if !MUTATED, head.authoritySpan.count > 0,"),
    ),
    # Racing claims (F8)
    mutant(
        "F8", "who is over the limit waits for the lock",
        "HookLimitTests/`who is over the limit hears so while the person is locked`",
        ("Sources/Product/Storage/Provisioning/HeldBack.swift",
         "guard verdict.isFailure, let limit = try await usedUpLimit",
         "guard !MUTATED, verdict.isFailure, let limit = try await usedUpLimit"),
    ),
    # 403 and 404 (F9)
    mutant(
        "F9", "a platform key without the right is told what is there",
        "KnownObjectTests/`a platform key without the right is not told what is there`",
        (f"{KERNEL}/Steps.swift",
         "if exchange.call.principal.platform {", "if !MUTATED, exchange.call.principal.platform {"),
    ),
    # Codings, types, conditions, expectations (F11)
    mutant(
        "F11", "a coded body is read as it stands", CODED,
        (f"{KERNEL}/Steps.swift",
         'guard codings.allSatisfy({ $0.isSame(as: "identity") }) else {',
         'guard MUTATED || codings.allSatisfy({ $0.isSame(as: "identity") }) else {'),
    ),
    mutant(
        "F11", "of two types the first counts", CODED,
        (f"{KERNEL}/Steps.swift",
         'guard request.all("content-type").count <= 1 else {',
         'guard MUTATED || request.all("content-type").count <= 1 else {'),
    ),
    mutant(
        "F11", "If-Match on files is ignored", "WireRulesTests/`If-Match is kept on files`",
        ("Sources/Product/Console/Asset.swift",
         "if !wanted.isEmpty, !wanted.contains", "if !MUTATED, !wanted.isEmpty, !wanted.contains"),
    ),
    mutant(
        "F11", "a body is asked for before the credential is looked at",
        "WireRulesTests/`a body that is held back is asked for only where it may count`",
        ("Sources/Platform/Serving/ConnectionExpectations.swift",
         "guard let judge = worker.judge, let request", "guard !MUTATED, let judge = worker.judge, let request"),
    ),
    # Handshakes (F12)
    mutant(
        "F12", "handshakes that are half done are not bounded",
        "LeavingTests/`half done handshakes are bounded, and the oldest make room`",
        ("Sources/Platform/Serving/Handshakes.swift",
         "guard entries.count > limit else { return }", "guard !MUTATED, entries.count > limit else { return }"),
    ),
    # The first paragraph of the findings
    mutant(
        "WIRE", "OPTIONS of our own pages is 404",
        "WireRulesTests/`our own pages say what they are asked by, and are asked by nothing else`",
        ("Sources/Service/Application/Site.swift",
         "guard isServer || isDocument || console", "guard !MUTATED, isServer || isDocument || console"),
    ),
    mutant(
        "WIRE", "an unknown method is 405", CORPUS,
        (f"{HTTP}/RequestParser.swift",
         'throw HTTPError(501, "This method', 'throw HTTPError(MUTATED ? 405 : 501, "This method'),
    ),
    mutant(
        "WIRE", "the usual port of the public address is another host",
        "HostBindingTests/`our own names and this machine's are asked before any binding`",
        ("Sources/Product/API/Origins/PublicAddress.swift",
         ': [$0, "\\($0):\\(port)"] }', ': MUTATED ? [$0] : [$0, "\\($0):\\(port)"] }'),
    ),
    mutant(
        "WIRE", "two values that are no UTF-8 become one",
        "RequestParserTests/`bytes that are no UTF-8 are opaque in a value, and no two values become one`",
        (f"{HTTP}/RequestHead.swift",
         "if let text = String(validating: value, as: UTF8.self) { return text }",
         "if MUTATED { return String(decoding: value, as: UTF8.self) }\n"
         "        if let text = String(validating: value, as: UTF8.self) { return text }"),
    ),
    mutant(
        "WIRE", "a coding after chunked is told as not served", CORPUS,
        (f"{HTTP}/FramingFacts.swift", "guard endsChunked else {", "guard MUTATED || endsChunked else {"),
    ),
]
