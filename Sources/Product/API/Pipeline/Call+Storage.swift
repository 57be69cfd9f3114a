import HTTP
import JSON
import Storage
import Text

extension Call {
    /// The actor of this call's audit rows.
    package var actor: Actor {
        Actor(
            type: principal.kind.rawValue, id: principal.id?.description ?? "",
            name: principal.name, requestID: request.id, ip: request.remoteAddress)
    }

    /// The rows of the path's tenant.
    package var scope: TenantScope { get throws { try services.database.scope(tenant.id) } }

    /// One page's query for a store, from `limit`, `cursor` and `sort`.
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
    /// A store's page as the response.
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

/// Storage's refusals as problem documents.
package func storageProblem(_ error: any Error) -> Problem? {
    if let refused = error as? AttributeFaults {
        return .invalid(
            refused.faults.map { fault in
                let at = "/" + fault.object
                return FieldError(
                    fault.name.map { pointer(at, $0) } ?? at,
                    FieldCode(rawValue: fault.kind.rawValue) ?? .invalid, fault.detail)
            })
    }
    if let full = error as? TooManyJobs { return problem(full) }
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

private func problem(_ full: TooManyJobs) -> Problem {
    switch full {
    case .live:
        .rateLimited(
            "The tenant has \(JobLimits.live) jobs that are not done; wait for one to end.",
            limit: JobLimits.live, retryAfter: 60)
    case .rows:
        .rateLimited(
            "With these rows the tenant's jobs would have more than \(JobLimits.kept); a job and its "
                + "report go 30 days after its end.",
            limit: JobLimits.kept, retryAfter: 86_400)
    }
}
