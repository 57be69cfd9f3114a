import HTTP
import JSON
import Storage
import Text

extension JobEndpoints {
    /// Row by row; as a file by `Accept`, as every list.
    var report: Endpoint {
        Endpoint(
            .get, path + "/{id}/report", id: operation("get", "JobReport"), tag: "Jobs",
            summary: "What became of each row, in their order; as a file by `Accept`.",
            access: access,
            query: [
                .limit, .cursor,
                QueryParameter("status", .enumeration(of: JobResult.Status.self)),
            ],
            answers: [.list(JobResult.shape)], exists: exists
        ) { call in
            let (scope, job) = try await find(call)
            let page = try call.page(defaultSort: "row")
            let status = call.query.optionalString("status").flatMap(JobResult.Status.init)
            let found = try await scope.results(
                of: job.id, after: page.after.flatMap { Int($0.key) } ?? 0,
                limit: page.limit + 1, status: status)
            let rows = found.prefix(page.limit)
            let next = found.count > page.limit ? rows.last : nil
            var total = call.export != nil ? Total(0, exact: false) : page.after?.total
            if total == nil {
                let counted = try await scope.resultCount(of: job.id, status: status)
                total = Total(counted.value, exact: counted.exact)
            }
            return call.list(
                rows, next: next.map { Cursor(key: "\($0.row)", id: job.id) },
                total: total ?? Total(0)
            ) { $0.write(to: &$1) }
        }
    }
}
