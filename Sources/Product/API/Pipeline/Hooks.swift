import HTTP
import Runtime
import Text

/// What the dispatcher needs from the rest of the service. The composition root provides it.
package struct Hooks: Sendable {
    /// Checks the credential. Without a credential the caller is `.anonymous`. Throws 401 for an
    /// invalid credential, 400 for two different ones, and 503 if the database is unavailable. Not
    /// called for open endpoints.
    package typealias Authenticate = @Sendable (Request) async throws -> CallerPrincipal

    /// Finds the path's tenant by id or slug; `nil` is 404. The dispatcher itself refuses a
    /// credential of another tenant.
    package typealias ResolveTenant =
        @Sendable (_ idOrSlug: String, CallerPrincipal) async throws -> ResolvedTenant?

    /// `nil` if the call is permitted.
    package typealias Authorize = @Sendable (CallerPrincipal, Access, Call) -> Problem?

    /// Applies the CORS policy to a request. The match is `nil` if no route has its path.
    package typealias EnforceCORS =
        @Sendable (Request, RouteMatch<Endpoint>?) async throws -> CORSVerdict

    package var authenticate: Authenticate
    /// The same for a call that continues: it is neither counted as a use of the credential nor
    /// limited.
    package var recheck: Authenticate
    /// Called only if the path has `{tenant}`.
    package var resolveTenant: ResolveTenant
    /// Called before the handler, after the tenant is resolved if the path has one.
    package var authorize: Authorize
    /// Called before authentication, also for preflights.
    package var enforceCORS: EnforceCORS
    /// Encodes a refusal in the form that the path's clients expect; `nil` for the form of RFC
    /// 9457.
    package typealias Encode = @Sendable (Problem, Request) -> Response?

    /// Called for each problem; if it returns `nil`, the response is `application/problem+json`.
    package var encode: Encode
    package var idempotency: (any IdempotencyStore)?
    /// Returns once no replica answers from before the latest commit. The argument is the request's
    /// tenant, `nil` if it has none.
    package var awaitEarlierInvalidations: @Sendable (UUID?) async throws -> Void
    /// Translates errors of lower layers: of the storage layer (unavailable, commit unknown) and
    /// refusals of the domain.
    package var problem: @Sendable (any Error) -> Problem?
    /// Writes the log line and updates the metrics of a finished request.
    package var record: @Sendable (RequestRecord) -> Void
    package var now: @Sendable () -> Timestamp
    /// The trace of a request, if it is recorded, until `record` is called; `nil` if none ever is.
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

/// The result of the CORS policy. Its fields are added to every response, including refusals; the
/// dispatcher adds `Vary: Origin`.
package struct CORSVerdict: Sendable {
    package enum Outcome: Sendable {
        case proceed
        /// The response to a preflight.
        case answer(Response)
        case refuse(Problem)
    }

    /// A refusal still has `fields`.
    package var outcome: Outcome
    /// Added to the response in every case.
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
    /// The request id, which is also in the response's `X-Request-Id`.
    package var requestID: String
    package var method: Method
    /// The pattern instead of the path: it has few values and no personal data.
    package var route: String?
    /// The beginning of a path without a route. The rest may be a secret of another service.
    package var beginning: String?
    /// The endpoint's operationId; `nil` if no endpoint matched.
    package var operation: String?
    package var status: Int
    /// From the start of the call to its response.
    package var microseconds: Int64
    package var principal: CallerPrincipal
    /// The path's tenant, else the credential's.
    package var tenant: UUID?
    /// The client's address as text, without a port.
    package var remoteAddress: String
    /// The W3C Trace Context field as sent; `nil` if it is absent.
    package var traceparent: String?
    /// The error, or the reason for a refusal if the response does not state it.
    package var fault: String?
    /// The cause of a 503.
    package var outage: Outage?
    /// Whether the client's connection is encrypted.
    package var isTLS = false
    /// Whether this is a 5xx that an app's contract prescribes although the server has no fault. It
    /// is counted as a 4xx.
    package var isForeseen = false
    /// Whether this server failed.
    package var isFailed: Bool { status >= 500 && !isForeseen }

    /// The defaults describe a request without a fault.
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
    /// PostgreSQL was unreachable, or could not do what was requested.
    case database
    /// A COMMIT was sent, and its response was lost.
    case commitUnknown = "commit_unknown"
    /// The request's time limit was reached.
    case deadline
    /// Another cause: a provider, a limit that is reached, or a replica that is stopping.
    case other
}
