import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/imports`: users from another system.
enum ImportEndpoint {
    static let all = [create]

    private static let create = Endpoint(
        .post, "/v1/tenants/{tenant}/imports", id: "createImport", tag: "Imports",
        summary:
            "Imports users from a file, as a job; the file is the body, or the part `file` of a form "
            + "after the part `options` (`mapping`, `issuer`, `hash`).",
        access: .right(.createUsers),
        query: [
            QueryParameter(
                "format", .enumeration(of: ImportFormat.self), required: true,
                "Where the file is from."),
            QueryParameter("dry_run", .bool, "Only says row by row what would happen."),
            QueryParameter(
                "on_conflict", .enumeration(of: ImportRules.Conflict.self),
                "What becomes of a row whose address or id a user has: skip."),
            QueryParameter(
                "guard", .enumeration(of: CSV.Guard.self),
                "Takes off the apostrophes that an export of ours puts before formulas; a CSV with all "
                    + "columns of the export needs it not."),
        ],
        body: .stream([
            "text/csv", "application/x-ndjson", "application/json", "multipart/form-data",
        ]),
        answers: [Answer(202, .object(JobRow.shape), summary: "The job, which has begun to wait.")],
        problems: [.rateLimited], idempotent: true, maxBody: ImportLimits.packed,
        receive: receive
    ) { call in
        guard let upload = call.received else { throw Problem.internalError }
        let maker = call.jobMaker
        let conflict: ImportRules.Conflict = call.query.optionalCase("on_conflict") ?? .skip
        let job = try await call.making { change in
            let job = try await change.createJob(
                ImportJob.kind,
                .object([
                    .init("import", .string(upload.id.description)),
                    .init("format", .string(try call.query.string("format"))),
                    .init("on_conflict", .string(conflict.rawValue)),
                    .init(ImportJob.tenantsWord, .bool(!call.principal.platform)),
                    .init(JobRow.notesMember, .array(upload.notes.map(JSONValue.string))),
                ]), total: upload.rows, by: maker, isDryRun: call.isDryRun)
            try await change.giveImport(upload.id, to: job.id)
            return job
        }
        return .accepted(job, call)
    }

    /// Nothing of an upload that breaks off is kept.
    private static let receive: Endpoint.Receive = { call in
        guard let format = call.query.optionalString("format").flatMap(ImportFormat.init) else {
            throw Problem.internalError
        }
        let scope = try call.scope
        let slot = try call.services.uploads.take(for: scope.tenant)
        defer { withExtendedLifetime(slot) {} }
        let id = try await scope.beginImport()
        do {
            let (rows, notes) = try await ImportUpload.receive(
                call, format: format, as: id, in: slot)
            return ReceivedBody(id: id, rows: rows, notes: notes) {
                try await scope.discardImport(id)
            }
        } catch {
            try? await scope.discardImport(id)
            throw error
        }
    }
}
