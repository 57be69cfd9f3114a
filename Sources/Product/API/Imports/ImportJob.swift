import Cryptography
import Domain
import JSON
import Storage
import Text

/// The job that creates users from an imported file.
struct ImportJob: JobKind {
    static let kind = "import"
    /// The name of the parameter that states whether only a tenant, and not the platform, asserts
    /// that the file's content is true. The parameter keeps its value if an operator of the
    /// platform resumes the job.
    static let tenantsWord = "asserted_by_tenant"

    let name = Self.kind
    /// The maximum number of rows in a batch. A batch writes all its new users with one statement
    /// for each table.
    let batch = 500

    func rights(_ job: JobRow) -> [Right] {
        job.isUndoing
            ? [.deleteUsers, .editUsers, .linkIdentities]
            : [.createUsers, .editUsers, .linkIdentities]
    }

    func step(_ work: JobWork, _ application: Application) async throws -> JobStep {
        let rules = try rules(of: work)
        // An update of existing users takes one savepoint for each user, so batches are smaller.
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

    /// The roles that the job's creator may grant. The creator may also act on users with these
    /// roles.
    private func roles(of work: JobWork) -> [UserRole] {
        UserRole.allCases.filter { Permissions.mayActFor(work.principal, $0, in: work.job.tenant) }
    }
}

/// The options that a caller sends with a file.
struct ImportOptions: Sendable {
    /// The names of the file's columns, by the member of this API that each column contains.
    var mapping: [String: String]?
    /// The issuer of the former system. If it is set, each user also gets an identity there, with
    /// the former id as its subject.
    var issuer: String?
    var firebase: FirebaseProject?
    /// The pool of a Cognito import.
    var pool: Provider?
    /// Whether to remove a prefix before the texts in the cells. This server's exports add the
    /// prefix, so that spreadsheets do not run the texts as formulas (see `CSV.guarded`). If a file
    /// has exactly the columns of an export, the prefix is removed even without this option.
    var isGuarded = false
    /// Whether a CSV file is encoded in Windows-1252 instead of UTF-8.
    var isWindows1252 = false
    /// Whether imported hashes must be within the tighter limits of `GATEHOUSE_IMPORTED_HASHES`.
    var holdsTightly = false
    /// The time when the file arrived. A ban that ended before it is ignored.
    var now = Timestamp.systemClock()
}

extension ImportOptions {
    static let shape = ObjectShape(
        "ImportOptions",
        [
            FieldShape(
                "mapping", .map(of: .string(min: 1, max: ImportLimits.options)),
                "With `format=csv`: for each column of this API, the column of the file that "
                    + "contains it, for example `{\"email\": \"E-Mail\"}`. Several columns of "
                    + "this API may name the same column of the file.", example: mappingExample),
            FieldShape(
                "issuer", .string(min: 1, max: ImportLimits.issuer),
                "With `format=auth0`, `clerk`, `keycloak` or `firebase`: the issuer of the former "
                    + "system. Each row's id in that system then becomes the subject of a sign-in "
                    + "at this issuer. With `format=cognito`: the id of the pool."),
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
                            FieldShape(
                                "rounds", .integer(1...64),
                                "`rounds` of the Firebase project; 8 if absent."),
                            FieldShape(
                                "mem_cost", .integer(1...32),
                                "`mem_cost` of the Firebase project; 14 if absent."),
                        ])),
                "With `format=firebase`: the parameters with which the project hashes passwords. "
                    + "The signer key is not stored."),
        ])

    private static let mappingExample = JSONValue.object([.init("email", .string("E-Mail"))])

    /// Reads the options from the form's part `options`.
    init(_ bytes: [UInt8]) throws {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw Problem(.invalidRequest, "The part `options` cannot be read as JSON: \(error).")
        }
        var decoder = Decoder(allowsReadOnly: false)
        let input = decoder.object(document, Self.shape, at: "/options")
        var errors = decoder.errors
        issuer = input.optionalString("issuer")
        if let members = input["mapping"]?.members {
            errors += Self.mappingFaults(members)
            mapping = Dictionary(
                members.map { ($0.name, $0.value.string ?? "") }, uniquingKeysWith: { $1 })
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
                        "must have a `signer_key` of 32 bytes or more and a `salt_separator`, both "
                            + "in base64, and `rounds` and `mem_cost` within the server's limits"))
            }
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    /// The errors in a mapping, besides those that its shape finds.
    private static func mappingFaults(_ members: [JSONValue.Member]) -> [FieldError] {
        if members.isEmpty {
            return [
                FieldError(
                    "/options/mapping", .tooShort,
                    "must map at least one column of this API to a column of the file")
            ]
        }
        return members.filter { !ImportedRow.isColumn($0.name) }.map {
            FieldError(
                pointer("/options/mapping", $0.name), .unknown, "is not a column of this API")
        }
    }

    /// Finds the pool of a Cognito import: the pool that the options name or, if they name none,
    /// the tenant's only pool. Throws 422 if there is no such pool.
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
                        : "is required, because the tenant has several pools: the id of one of "
                            + "them")
            ])
        }
        pool = first
    }
}
