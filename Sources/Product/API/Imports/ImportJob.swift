import Cryptography
import Domain
import JSON
import Storage
import Text

/// The job of an import.
struct ImportJob: JobKind {
    static let kind = "import"
    /// The parameter that states whether only the tenant asserts the file's content. It stays the
    /// same when an operator of the platform resumes the job.
    static let tenantsWord = "asserted_by_tenant"

    let name = Self.kind
    /// The new users of a batch are written with one statement for each table.
    let batch = 500

    func rights(_ job: JobRow) -> [Right] {
        job.isUndoing
            ? [.deleteUsers, .editUsers, .linkIdentities]
            : [.createUsers, .editUsers, .linkIdentities]
    }

    func step(_ work: JobWork, _ application: Application) async throws -> JobStep {
        let rules = try rules(of: work)
        // Each existing user has a savepoint.
        let limit = rules.conflict == .update ? min(work.limit, JobLimits.batch) : work.limit
        let (results, isLast) = try await work.change.importBatch(
            by: rules, after: work.job.position, limit: limit)
        return JobStep(results, isLast: isLast)
    }

    func undo(_ row: JobResult, _ work: JobWork, _ application: Application) async throws
        -> JobResult
    {
        try await work.change.undoImport(
            row, roles: roles(of: work))
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

/// What the caller states about a file, beside the file itself.
struct ImportOptions: Sendable {
    /// The file's column for each column of this API.
    var mapping: [String: String]?
    /// The former system's own issuer: each row's id there then becomes an identity too.
    var issuer: String?
    var firebase: FirebaseProject?
    /// The pool of a Cognito import.
    var pool: Provider?
    /// Whether the cells have the guards of this server's own exports, whatever the columns are.
    var isGuarded = false
    /// Whether a CSV is in Windows-1252 instead of UTF-8.
    var isWindows1252 = false
    /// Whether hashes must keep the tighter limits of `GATEHOUSE_IMPORTED_HASHES`.
    var holdsTightly = false
    /// When the file arrived. A ban that has ended by then no longer counts.
    var now = Timestamp.systemClock()
}

extension ImportOptions {
    private static let shape = ObjectShape(
        "ImportOptions",
        [
            FieldShape(
                "mapping", .any,
                "The columns of the file, by this API's names: `{\"email\": \"E-Mail\"}`."),
            FieldShape(
                "issuer", .string(min: 1, max: ImportLimits.issuer),
                "The issuer of the former system, or the id of the Cognito pool."),
            FieldShape(
                "hash",
                .object(
                    ObjectShape(
                        "ImportHash",
                        [
                            FieldShape(
                                "signer_key", .string(min: 1, max: 512),
                                "The signer key, in base64."),
                            FieldShape(
                                "salt_separator", .string(max: 512),
                                "The salt separator, in base64."),
                            FieldShape("rounds", .integer(1...64), "The number of rounds."),
                            FieldShape("mem_cost", .integer(1...32), "The memory cost."),
                        ])), "The hash parameters of a Firebase project. They are not stored."),
        ])

    /// Reads the part `options` of a form.
    init(_ bytes: [UInt8]) throws {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw Problem(.invalidRequest, "The part options is not JSON: \(error).")
        }
        var decoder = Decoder(allowsReadOnly: false)
        let input = decoder.object(document, Self.shape, at: "/options")
        var errors = decoder.errors
        issuer = input.optionalString("issuer")
        if let given = input["mapping"] {
            mapping = Self.mapping(given)
            if mapping == nil {
                errors.append(
                    FieldError(
                        "/options/mapping", .invalid,
                        "must be names of this API, each with the name of a column of the file"))
            }
        }
        if errors.isEmpty, let hash = input["hash"] {
            do {
                firebase = try FirebaseProject(
                    signerKey: hash["signer_key"]?.string ?? "",
                    saltSeparator: hash["salt_separator"]?.string ?? "",
                    rounds: hash["rounds"]?.int ?? 8, memoryCost: hash["mem_cost"]?.int ?? 14)
            } catch {
                errors.append(
                    FieldError(
                        "/options/hash", .invalid,
                        "must be the parameters of a Firebase project, within the limits"
                    ))
            }
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    private static func mapping(_ value: JSONValue) -> [String: String]? {
        guard let members = value.members, !members.isEmpty else { return nil }
        var mapping: [String: String] = [:]
        for member in members {
            guard ImportedRow.isColumn(member.name), let theirs = member.value.string,
                !theirs.isEmpty, mapping.updateValue(theirs, forKey: member.name) == nil
            else { return nil }
        }
        return mapping
    }

    /// The pool of a Cognito import: the one that is named, else the only one that the tenant has.
    mutating func findPool(for scope: TenantScope) async throws {
        let pools = try await scope.database.pools(near: scope.tenant).filter { pool in
            issuer.map { sameBytes($0, pool.issuer) } ?? true
        }
        guard let first = pools.first, pools.count == 1 || issuer != nil else {
            throw Problem.invalid([
                FieldError(
                    "/options/issuer", pools.isEmpty ? .invalid : .required,
                    pools.isEmpty
                        ? "must be the id of a Cognito pool that is registered as a provider"
                        : "must name one of the pools")
            ])
        }
        pool = first
    }
}
