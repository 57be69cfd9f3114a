import HTTP
import JSON
import Storage
import Text

extension Call {
    /// Who the audit rows of this call will name.
    package var actor: Actor {
        Actor(
            type: principal.kind.rawValue, id: principal.id?.description ?? "",
            name: principal.name, requestID: request.id, ip: request.remoteAddress)
    }

    /// The rows of the path's tenant.
    package var scope: TenantScope {
        get throws { try services.database.scope(tenant.id) }
    }

    /// One page's query for a store, from `limit`, `cursor` and `sort`.
    package func listQuery(defaultSort: String = "-created_at") throws -> ListQuery {
        let page = try page(defaultSort: defaultSort)
        return ListQuery(
            limit: page.limit, sort: page.sort == "email" ? .email : .createdAt,
            descending: page.descending, after: page.after.map { ($0.key, $0.id) })
    }
}

extension Call {
    /// A page out of a store's rows, which are one more than the page where more follow. `count`
    /// is exact up to 10,000.
    func list<Row>(
        _ rows: [Row], _ query: ListQuery, count: Int, json: (Row) -> JSONValue,
        cursor: (Row) -> Cursor
    ) -> Response {
        let page = rows.prefix(query.limit)
        return list(
            page.map(json), next: rows.count > query.limit ? page.last.map(cursor) : nil,
            total: Total(min(count, 10_000), exact: count <= 10_000))
    }
}

/// Storage's refusals as problem documents.
package func storageProblem(_ error: any Error) -> Problem? {
    switch StorageFailure(error) {
    case .notFound(let what): return .notFound(what)
    case .versionMismatch:
        return Problem(.preconditionFailed, "The object has changed since it was read.")
    case .conflict(let code, let detail, let id):
        let code = Code(rawValue: code) ?? .conflict
        guard let id else { return Problem(code, detail, status: 409) }
        return .conflict(detail, with: id.description, code: code)
    case .unavailable: return .unavailable
    case .commitUnknown: return .commitUnknown
    case nil: return nil
    }
}
