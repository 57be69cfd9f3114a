import Domain
import HTTP
import JSON
import Storage
import Text

/// A request that passed every check before the handler: its caller, tenant and valid input.
package struct Call: Sendable {
    package internal(set) var request: Request
    /// The percent-decoded values of the path's `{…}` parameters.
    package internal(set) var parameters: RouteParameters
    /// The same for all calls.
    package let application: Application
    /// The position that a list's reads must include on a standby; `nil` if the primary answers.
    var readPosition: ReadPosition?
    /// When dispatch began. Handlers use no other clock.
    package let now: Timestamp
    package internal(set) var principal: CallerPrincipal = .anonymous
    package internal(set) var resolvedTenant: ResolvedTenant?
    /// The body, decoded by the endpoint's shape.
    package internal(set) var input = Input()
    /// The query parameters, decoded by their declarations.
    package internal(set) var query = Input()
    /// The result of the endpoint's `receive` for the body.
    var received: ReceivedBody?
    /// Identifies the list that a cursor belongs to: path, sort and filters.
    var listIdentity: String = ""
    /// Set if the list is exported as a file; `page` and `list` then handle the file's next part.
    var export: ListExport?

    /// A call starts anonymous, without tenant and input, which the dispatcher adds.
    package init(
        request: Request, parameters: RouteParameters = RouteParameters(),
        application: Application, now: Timestamp
    ) {
        self.request = request
        self.parameters = parameters
        self.application = application
        self.now = now
    }

    package var database: Database { application.database }

    /// The path's `{tenant}`. Throws if the path has none, which is an error in the declaration.
    package var tenant: ResolvedTenant {
        get throws {
            guard let resolvedTenant else { throw Problem.internalError }
            return resolvedTenant
        }
    }

    /// A path parameter as a UUID. Other text names no object, so it is 404.
    package func id(_ name: String = "id") throws -> UUID {
        guard let id = parameters[name].flatMap({ UUID($0) }) else { throw Problem.notFound() }
        return id
    }

    /// A path parameter as text. Throws if the path has no parameter of this name, which is an
    /// error in the declaration.
    package func parameter(_ name: String) throws -> String {
        guard let value = parameters[name] else { throw Problem.internalError }
        return value
    }

    /// The body of an endpoint that receives it in pieces.
    package var pieces: BodyStream { request.stream ?? BodyStream(request.body) }

    /// `?dry_run=true`: the handler computes the result and writes nothing.
    package var isDryRun: Bool { query.flag("dry_run") }
}

extension Call {
    /// The actor in the audit log for this call.
    package var actor: Actor {
        Actor(
            type: principal.kind.rawValue, id: principal.id?.description ?? "",
            name: principal.name, requestID: request.id, ip: request.remoteAddress)
    }

    /// The scope of the path's tenant.
    package var scope: TenantScope { get throws { database.scope(try tenant.id) } }

    /// The query for one page of a store, from `limit`, `cursor` and `sort`.
    package func listQuery(defaultSort: String = "-created_at") throws -> ListQuery {
        let page = try page(defaultSort: defaultSort)
        let sort: ListQuery.Sort =
            switch page.sort {
            case "email": .email
            case "name": .name
            case "occurred_at": .occurredAt
            case "last_sign_in_at": .lastSignIn
            default: .createdAt
            }
        // An export has no total, so nothing is counted for it.
        let counted = export != nil ? Total(0, exact: false) : page.after?.total
        return ListQuery(
            limit: page.limit, sort: sort, descending: page.descending,
            after: page.after.map { ($0.key, $0.id) },
            total: counted.map { ListTotal($0.value, exact: $0.exact) })
    }
}

extension Call {
    /// The response with a page of a store.
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

/// Callers that are limited to their own objects.
extension Call {
    /// The only user whose objects the caller reaches under this right; `nil` if the caller is not
    /// limited.
    func bound(_ right: Right) -> UUID? { Permissions.bound(principal.subject, right) }

    /// Callers limited to their own objects get 404 for those of others.
    func sees(_ user: UUID?) -> Bool {
        guard let own = bound(.readUsers) else { return true }
        return user == own
    }
}

extension Call {
    /// Throws 403 unless the caller covers the role of the user.
    func requireCover(of user: UserRow) throws {
        try principal.subject.requireCover(of: user.role, in: user.tenant)
    }
}

/// Why something expires earlier than was requested.
enum ExpiryReason {
    static let field = FieldShape.readOnly(
        "expires_at_reason", .enumeration(["maker"]), always: false,
        "Present if it expires together with the key that created it, earlier than requested.")

    /// The member, if the end is that of the caller itself.
    static func members(of end: Timestamp, _ call: Call) -> [JSONValue.Member] {
        guard call.principal.subject.expiry == end else { return [] }
        return [.init("expires_at_reason", .string("maker"))]
    }
}
