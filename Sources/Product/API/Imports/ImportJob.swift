import Domain
import JSON
import Storage
import Text

/// The job of an import.
struct ImportJob: JobKind {
    static let kind = "import"
    /// Of the parameters: whether the file is the word of the tenant alone. It stays so when an operator
    /// of the platform resumes the job.
    static let tenantsWord = "asserted_by_tenant"

    let name = Self.kind
    /// One statement for each table writes the new users of a batch.
    let batch = 500

    func rights(_ job: JobRow) -> [Right] {
        job.isUndoing
            ? [.deleteUsers, .editUsers, .linkIdentities]
            : [.createUsers, .editUsers, .linkIdentities]
    }

    func step(_ work: JobWork, _ services: Services) async throws -> JobStep {
        let rules = try rules(of: work)
        // Each known user has a savepoint.
        let limit = rules.conflict == .update ? min(work.limit, JobLimits.batch) : work.limit
        let (results, isLast) = try await work.change.importBatch(
            by: rules, after: work.job.position, limit: limit,
            in: try services.database
        ) { row, update in try await work.row(row, update) }
        return JobStep(results, isLast: isLast)
    }

    func undo(_ row: JobResult, _ work: JobWork, _ services: Services) async throws -> JobResult {
        try await work.change.undoImport(
            row, roles: roles(of: work), in: try services.database)
    }

    func ended(_ change: Change, _ job: JobRow) async throws {
        try await change.endImport(of: job.id)
    }

    private func rules(of work: JobWork) throws -> ImportRules {
        let parameters = work.job.parameters
        guard let id = parameters["import"]?.string.flatMap({ UUID($0) }),
            let conflict = parameters["on_conflict"]?.string.flatMap(ImportRules.Conflict.init)
        else { throw Problem.internalError }
        return ImportRules(
            id: id, conflict: conflict, roles: roles(of: work),
            isAssertedByTenant: parameters[Self.tenantsWord]?.bool ?? true
                || work.principal.tenantID != nil)
    }

    /// The roles that the job's maker may give and act for.
    private func roles(of work: JobWork) -> [UserRole] {
        UserRole.allCases.filter { Permissions.mayActFor(work.principal, $0, in: work.job.tenant) }
    }
}
