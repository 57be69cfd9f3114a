import HTTP
import Runtime
import Text

/// What the dispatcher needs from the rest of the service; the composition root fills it.
package struct Hooks: Sendable {
    /// Checks the credential. No credential is `.anonymous`; a bad one throws 401, two different
    /// ones 400, an unavailable database 503. Not called for open endpoints.
    package typealias Authenticate = @Sendable (Request) async throws -> CallerPrincipal

    /// Finds the path's tenant by id or slug; nil is 404. Another tenant's credential is refused
    /// by the dispatcher.
    package typealias ResolveTenant =
        @Sendable (_ idOrSlug: String, CallerPrincipal) async throws -> ResolvedTenant?

    /// Nil permits.
    package typealias Authorize = @Sendable (CallerPrincipal, Access, Call) -> Problem?

    /// Applies the CORS policy to a request; the match is nil if no route has its path.
    package typealias EnforceCORS =
        @Sendable (Request, RouteMatch<Endpoint>?) async throws -> CORSVerdict

    package var authenticate: Authenticate
    /// The same for a call that continues: neither counted as a use of the credential nor limited.
    package var recheck: Authenticate
    /// Runs only if the path has `{tenant}`.
    package var resolveTenant: ResolveTenant
    /// Runs before the handler, after the tenant is resolved if the path has one.
    package var authorize: Authorize
    /// Runs before authentication, also for preflights.
    package var enforceCORS: EnforceCORS
    /// The refusal in the form of the path's clients; nil is RFC 9457.
    package typealias Encode = @Sendable (Problem, Request) -> Response?

    /// Runs for each problem; nil falls back to `application/problem+json`.
    package var encode: Encode
    package var idempotency: (any IdempotencyStore)?
    /// Returns when no replica answers from before the latest commit; with the tenant of the request, nil if
    /// it is of none.
    package var awaitEarlierInvalidations: @Sendable (UUID?) async throws -> Void
    /// Errors from lower layers: storage's unavailable and commit unknown, the domain's refusals.
    package var problem: @Sendable (any Error) -> Problem?
    /// One log line and the metrics of a finished request.
    package var record: @Sendable (RequestRecord) -> Void
    package var now: @Sendable () -> Timestamp
    /// The trace of a request that is recorded, until `record` was called; nil: none ever is.
    package var trace: (@Sendable (Request) -> Trace?)?

    package init(
        authenticate: @escaping Authenticate, recheck: Authenticate? = nil,
        resolveTenant: @escaping ResolveTenant,
        authorize: @escaping Authorize, enforceCORS: @escaping EnforceCORS,
        encode: @escaping Encode = { _, _ in nil },
        idempotency: (any IdempotencyStore)? = nil,
        awaitEarlierInvalidations: @escaping @Sendable (UUID?) async throws -> Void = { _ in },
        problem: @escaping @Sendable (any Error) -> Problem? = { _ in nil },
        record: @escaping @Sendable (RequestRecord) -> Void = { _ in },
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.authenticate = authenticate
        self.recheck = recheck ?? authenticate
        self.resolveTenant = resolveTenant
        self.authorize = authorize
        self.enforceCORS = enforceCORS
        self.encode = encode
        self.idempotency = idempotency
        self.awaitEarlierInvalidations = awaitEarlierInvalidations
        self.problem = problem
        self.record = record
        self.now = now
    }
}

/// The result of the CORS policy. The fields are on every response, including refusals; `Vary:
/// Origin` is the dispatcher's.
package struct CORSVerdict: Sendable {
    package enum Outcome: Sendable {
        case proceed
        /// The response to a preflight.
        case answer(Response)
        case refuse(Problem)
    }

    /// A refusal still carries `fields`.
    package var outcome: Outcome
    /// Added to the response, whatever it is.
    package var fields: [Field]

    package init(_ outcome: Outcome, fields: [Field] = []) {
        self.outcome = outcome
        self.fields = fields
    }

    /// Continues without CORS fields.
    package static let proceed = CORSVerdict(.proceed)
}

/// A finished request, for the log and the metrics.
package struct RequestRecord: Sendable {
    /// Also in the response's `X-Request-Id`.
    package var requestID: String
    package var method: Method
    /// The pattern, not the path: few values, and no personal data.
    package var route: String?
    /// The beginning of an unmatched path. What follows may be a secret of another service.
    package var beginning: String?
    /// The endpoint's operationId; nil if none matched.
    package var operation: String?
    package var status: Int
    /// From the call's start to its response.
    package var microseconds: Int64
    package var principal: CallerPrincipal
    /// The path's tenant, else the credential's.
    package var tenant: UUID?
    /// The client's address as text, without a port.
    package var remoteAddress: String
    /// The W3C Trace Context field as sent; nil if absent.
    package var traceparent: String?
    /// The error, or the reason for a refusal if the response does not say it.
    package var fault: String?
    /// The cause of a 503.
    package var outage: Outage?
    /// Whether the client's connection is encrypted.
    package var isTLS = false
    /// A 5xx of an app's contract for what is no fault of this server: counted as 4xx.
    package var isForeseen = false
    /// Whether this server failed.
    package var isFailed: Bool { status >= 500 && !isForeseen }

    /// Defaults describe a request without fault.
    package init(
        requestID: String, method: Method, route: String?, operation: String?, status: Int,
        microseconds: Int64, principal: CallerPrincipal, tenant: UUID?, remoteAddress: String,
        traceparent: String? = nil, fault: String? = nil, outage: Outage? = nil
    ) {
        self.requestID = requestID
        self.method = method
        self.route = route
        self.operation = operation
        self.status = status
        self.microseconds = microseconds
        self.principal = principal
        self.tenant = tenant
        self.remoteAddress = remoteAddress
        self.traceparent = traceparent
        self.fault = fault
        self.outage = outage
    }
}

/// Why a request was answered 503.
package enum Outage: String, CaseIterable, Sendable {
    /// PostgreSQL was unreachable, or failed to do what was asked.
    case database
    /// A COMMIT was sent, and its response was lost.
    case commitUnknown = "commit_unknown"
    /// The request's time was over.
    case deadline
    /// A provider, a limit that is reached, a replica that stops.
    case other
}
