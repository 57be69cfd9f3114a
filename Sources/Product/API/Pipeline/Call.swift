import Domain
import HTTP
import JSON
import Storage
import Text

/// A request that passed every check before the handler, with its caller, tenant and valid input.
package struct Call: Sendable {
    package internal(set) var request: Request
    /// The percent-decoded values of the path's `{…}` parameters.
    internal(set) var parameters: RouteParameters
    /// The application, which is the same for all calls.
    package let application: Application
    /// A position in PostgreSQL's log. This call is answered by a standby database that has reached
    /// the position. `nil` if the primary database answers.
    var readPosition: ReadPosition?
    /// The time when dispatch began. Handlers must not read another clock.
    package let now: Timestamp
    package internal(set) var principal: CallerPrincipal = .anonymous
    internal(set) var resolvedTenant: ResolvedTenant?
    /// The body, decoded by the endpoint's shape.
    package internal(set) var input = Input()
    /// The query parameters, decoded by their declarations.
    internal(set) var query = Input()
    /// What the endpoint's `receive` stored of the body; `nil` if the endpoint has no `receive`.
    var received: ReceivedBody?
    /// The path, sort order and filters of the requested list, in one text. A cursor is valid only
    /// for the list with the same text.
    var listIdentity: String = ""
    /// The export of the list as a file; `nil` if a page was requested. During an export, `page`
    /// and `list` handle the next part of the file.
    var export: ListExport?

    /// Creates a call by an anonymous caller, without tenant and input. The dispatcher later sets
    /// the caller, the tenant and the input.
    init(
        request: Request, parameters: RouteParameters = RouteParameters(),
        application: Application, now: Timestamp
    ) {
        self.request = request
        self.parameters = parameters
        self.application = application
        self.now = now
    }

    package var database: Database { application.database }

    /// The tenant in the path. Throws if the path has no `{tenant}`, which is a fault in the
    /// endpoint's declaration.
    var tenant: ResolvedTenant {
        get throws {
            guard let resolvedTenant else { throw Problem.internalError }
            return resolvedTenant
        }
    }

    /// The UUID in a path parameter. Throws 404 for other text, since no object has such an id.
    package func id(_ name: String = "id") throws -> UUID {
        guard let id = parameters[name].flatMap({ UUID($0) }) else { throw Problem.notFound() }
        return id
    }

    /// The text of a path parameter. Throws if the path has no such parameter, which is a fault in
    /// the endpoint's declaration.
    package func parameter(_ name: String) throws -> String {
        guard let value = parameters[name] else { throw Problem.internalError }
        return value
    }

    /// The body in pieces, for an endpoint that receives its body in this way.
    var pieces: BodyStream { request.stream ?? BodyStream(request.body) }

    /// Whether the query has `dry_run=true`. The handler then computes the result and writes
    /// nothing.
    var isDryRun: Bool { query.flag("dry_run") }
}

extension Call {
    /// The actor that the audit log records for this call.
    var actor: Actor {
        Actor(
            type: principal.kind.rawValue, id: principal.id?.description ?? "",
            name: principal.name, requestID: request.id, ip: request.remoteAddress)
    }

    /// The database scope of the tenant in the path.
    var scope: TenantScope { get throws { database.scope(try tenant.id) } }

    /// The query for one page of a list, from `limit`, `cursor` and `sort`.
    func listQuery(defaultSort: String = "-created_at") throws -> ListQuery {
        let page = try page(defaultSort: defaultSort)
        let sort: ListQuery.Sort =
            switch page.sort {
            case "email": .email
            case "name": .name
            case "occurred_at": .occurredAt
            case "last_sign_in_at": .lastSignIn
            default: .createdAt
            }
        // An export shows no total, so nothing is counted for it.
        let counted = export != nil ? Total(0, exact: false) : page.after?.total
        return ListQuery(
            limit: page.limit, sort: sort, descending: page.descending,
            after: page.after.map { ($0.key, $0.id) },
            total: counted.map { ListTotal($0.value, exact: $0.exact) })
    }
}

extension Call {
    /// The response with a page from the storage layer.
    func list<Row>(
        _ page: ListPage<Row>, _ histogram: ListHistogram? = nil,
        write: (Row, inout JSONWriter) -> Void
    ) -> Response {
        list(
            page.rows, next: page.next.map { Cursor(key: $0.value, id: $0.id) },
            total: Total(page.total.value, exact: page.total.exact), write: write
        ) { json in histogram?.write(to: &json) }
    }

    func list(_ page: ListPage<some JSONView>, _ histogram: ListHistogram? = nil) -> Response {
        list(page, histogram) { $0.write(to: &$1) }
    }
}

/// Checks for callers who may see only their own objects.
extension Call {
    /// If the caller has this right only for its own objects, returns the id of the caller's user;
    /// otherwise `nil`.
    func bound(_ right: Right) -> UUID? { Permissions.bound(principal.subject, right) }

    /// Whether the caller may see the objects of this user. A caller who is limited to its own
    /// objects gets 404 for others.
    func sees(_ user: UUID?) -> Bool {
        guard let own = bound(.readUsers) else { return true }
        return user == own
    }
}

extension Call {
    /// Throws 403 unless the caller has all rights of the user's role.
    func requireCover(of user: UserRow) throws {
        try principal.subject.requireCover(of: user.role, in: user.tenant)
    }
}

/// The response member that states why something expires earlier than was requested.
enum ExpiryReason {
    static let field = FieldShape.readOnly(
        "expires_at_reason", .enumeration(["maker"]), always: false,
        "Present in the response to the request that set `expires_at`, if the object expires "
            + "together with the API key that made this request.")

    /// The member `expires_at_reason`, if `end` is the expiry of the caller itself; else none.
    static func members(of end: Timestamp, _ call: Call) -> [JSONValue.Member] {
        guard call.principal.subject.expiry == end else { return [] }
        return [.init("expires_at_reason", .string("maker"))]
    }
}
