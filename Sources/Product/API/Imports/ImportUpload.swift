import Cryptography
import Domain
import HTTP
import JSON
import Runtime
import Storage
import Text

/// `/v1/tenants/{tenant}/imports`: imports users from another system.
package enum ImportEndpoint {
    package static let all: [Endpoint] = [create]

    private static let create = Endpoint(
        .post, "/v1/tenants/{tenant}/imports", id: "createImport", tag: "Imports",
        summary:
            "Imports users from a file, as a job. The request body is the file itself, or a form "
            + "with the part `file`. The form can have a part `options` (`mapping`, `issuer`, "
            + "`hash`) before the file.",
        notes: notes, access: .right(.createUsers),
        query: [
            QueryParameter(
                "format", .enumeration(of: ImportFormat.self), required: true,
                "The system from which the file was exported, and the format of the file."),
            QueryParameter(
                "dry_run", .bool,
                "If true, the job only reports, row by row, what would happen."),
            QueryParameter(
                "on_conflict", .enumeration(of: ImportRules.Conflict.self),
                "What happens to a row if an existing user already has the row's address or id; "
                    + "`skip` if absent."),
            QueryParameter(
                "guard", .enumeration(of: CSV.Guard.self),
                "With `gatehouse`, the import removes the apostrophes that Gatehouse's exports put "
                    + "before formulas. A CSV file with exactly the columns of an export, in the "
                    + "same order, does not need this parameter."),
        ],
        body: .stream([
            Media("text/csv", csvText), Media("application/x-ndjson", linesText),
            Media("application/json", jsonText),
            .form(options: ImportOptions.shape, formText),
        ]),
        answers: [.accepted.showing(["kind": .string(ImportJob.kind)])],
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

    private static let notes = """
        The response is sent when the whole file is received. Then the job imports row by row: a \
        row that breaks a rule is refused with a reason in the job's report, and the others are \
        imported. If the file cannot be read, no row is imported (422).

        A new user is `suspended` if the row says so. Otherwise the user is `active` if the row \
        has an identity or a password, and `pending` until the first sign-in if it has neither. \
        A password is not imported, and does not count, if the row's `email_verified` is not \
        true or if the hash cannot be used.

        A CSV with the columns of this API:

        ```
        email,name,email_verified,public_attributes.plan
        ada@example.com,Ada,true,team
        ```

        A CSV with other columns, which `mapping` names:

        ```
        curl -X POST "$URL/v1/tenants/$TENANT/imports?format=csv" \\
          -H "Authorization: Bearer $KEY" \\
          -F 'options={"mapping":{"email":"E-Mail","name":"Full name"}};type=application/json' \\
          -F 'file=@people.csv;type=text/csv'
        ```
        """

    private static let csvText =
        "A CSV file in UTF-8 with a header line. With `format=csv`, the columns may be "
        + names(ImportedRow.ownColumns)
        + ", and one attribute in a column of its own, such as `public_attributes.plan`. Each row "
        + "needs `email`. `public_attributes` and `private_attributes` are JSON objects, "
        + "`identities` is a JSON list. The read-only columns of an exported list of users are "
        + "skipped. The file is refused if it has another column, unless `mapping` names the "
        + "columns to read. With another `format`, the columns are those of that system's export."

    private static let linesText =
        "A JSON object on each line. With `format=ndjson`, the members may be "
        + names(ImportedRow.ownNames)
        + ". Each row needs `email`. `identities` is a list of objects with `provider`, `issuer`, "
        + "`subject` and `email`. The read-only members of an exported list of users are skipped. "
        + "A row with another member is refused. With another `format`, the members are those of "
        + "that system's export."

    private static let jsonText =
        "A JSON array of objects with the members that are described for `application/x-ndjson`, "
        + "or the whole export of another system as JSON."

    private static let formText =
        "The part `file` is the file, with its own `Content-Type`: one of the other media types of "
        + "this body. Before it, there may be the part `options`, a JSON object. `mapping`: for "
        + "each column of this API, the column of the CSV file; columns that it does not name are "
        + "skipped. `issuer`: with `format=auth0`, `clerk`, `keycloak` or `firebase`, the issuer "
        + "of the former system; each row's id in that system then becomes the subject of an "
        + "identity. With `format=cognito`, the id of the pool. `hash`: the parameters with which "
        + "a Firebase project hashes passwords."

    private static func names(_ names: Set<String>) -> String {
        names.sorted().map { "`\($0)`" }.joined(separator: ", ")
    }

    private static func place(
        of tenant: UUID, in uploads: InFlight<UUID>
    ) throws -> InFlight<UUID>.Slot {
        do {
            return try uploads.enter(tenant)
        } catch {
            let running =
                error == .ofKey
                ? "\(uploads.perKey) imports of this tenant" : "\(uploads.total) imports"
            throw Problem.rateLimited(
                "\(running) are being received; try again later.", retryAfter: 10)
        }
    }

    /// Receives the body and stores its rows. If an upload breaks off, none of its rows is stored.
    private static let receive: Endpoint.Receive = { call in
        guard let format = call.query.optionalString("format").flatMap(ImportFormat.init) else {
            throw Problem.internalError
        }
        let scope = try call.scope
        let place = try Self.place(of: scope.tenant, in: call.application.uploads)
        defer { withExtendedLifetime(place) {} }
        let id = try await scope.beginImport()
        do {
            let (rows, notes) = try await ImportUpload.receive(
                call, format: format, as: id, in: place)
            return ReceivedBody(id: id, rows: rows, notes: notes) {
                try await scope.discardImport(id)
            }
        } catch {
            try? await scope.discardImport(id)
            throw error
        }
    }
}

/// Reads the body of an import in pieces and stores its rows for the job.
struct ImportUpload {
    /// The task group that stores one batch at a time.
    typealias Staging = ThrowingTaskGroup<Void, any Error>

    /// A batch is stored once it has this many rows, or once `bytesOfBatch` bytes of the file were
    /// read for it. The file is read in slices, and a batch ends only at the end of a slice, so it
    /// may have more rows.
    private static let rowsOfBatch = 500
    private static let bytesOfSlice = 16 << 10
    private static let bytesOfBatch = 1 << 20

    private let call: Call
    private let scope: TenantScope
    private let format: ImportFormat
    private let id: UUID
    private let place: InFlight<UUID>.Slot
    var options = ImportOptions()
    private var reader: ImportReader?
    private var batch: [StagedRow] = []
    /// The number of bytes that the batch's rows were read from.
    private var bytes = 0

    /// Stores the rows of the body for the job `id`. Returns the number of rows and the notes on
    /// the file.
    static func receive(
        _ call: Call, format: ImportFormat, as id: UUID, in place: InFlight<UUID>.Slot
    ) async throws -> (rows: Int, notes: [String]) {
        let upload = try ImportUpload(call, format, id, place)
        do {
            return try await withThrowingTaskGroup(of: Void.self) { staging in
                var upload = upload
                try await upload.receive(&staging)
                try await staging.waitForAll()
                return (upload.reader?.count ?? 0, upload.reader?.notes ?? [])
            }
        } catch let fault as ImportFileFault {
            throw Problem.invalid([FieldError("/file", .invalid, fault.detail)])
        }
    }

    private init(
        _ call: Call, _ format: ImportFormat, _ id: UUID, _ place: InFlight<UUID>.Slot
    ) throws {
        self.place = place
        self.call = call
        self.format = format
        self.id = id
        scope = try call.scope
    }

    private mutating func receive(_ staging: inout Staging) async throws {
        let type = call.request.first("content-type") ?? ""
        let pieces = try Self.content(of: call)
        if HeaderParameters(type).value == "multipart/form-data" {
            guard let form = MultipartReader(contentType: type) else {
                throw Problem(.invalidRequest, "The multipart form has no boundary.")
            }
            try await readForm(form, pieces, &staging)
        } else {
            try await begin(type: type)
            while let piece = try await pieces.next() { try await take(piece, &staging) }
            try await finish(&staging)
        }
    }

    private static func content(of call: Call) throws -> BodyStream {
        let isPacked = call.request.all("content-encoding").contains { $0.lowercased() == "gzip" }
        return isPacked
            ? try call.pieces.unpacked(limit: ImportLimits.unpacked, ratio: ImportLimits.ratio)
            : call.pieces
    }

    mutating func begin(type: String) async throws {
        options.now = call.now
        options.isGuarded = call.query.has("guard")
        options.holdsTightly = call.application.holdsImportedHashesTightly
        let parameters = HeaderParameters(type)
        if let charset = parameters["charset"], charset.lowercased() != "utf-8" {
            guard Windows1252.isNamed(charset) else {
                throw Problem.invalid([
                    FieldError(
                        "/file", .invalid,
                        "is in \(DisplayText.shortened(charset, to: 64)), which is not supported; "
                            + "save it as UTF-8"
                    )
                ])
            }
            options.isWindows1252 = true
        }
        if format == .cognito { try await options.findPool(for: scope) }
        let isCSV =
            switch parameters.value {
            case "text/csv": true
            case "application/json", "application/x-ndjson": false
            // In a form, the file's part often has another content type, for example with `curl -F
            // file=@users.csv`. The format then decides.
            default: format == .csv
            }
        reader = ImportReader(format, isCSV: isCSV, options)
    }

    /// Reads a piece slice by slice. Between two slices, the event loop can serve other
    /// connections.
    mutating func take(_ piece: [UInt8], _ staging: inout Staging) async throws {
        for start in stride(from: 0, to: piece.count, by: Self.bytesOfSlice) {
            try checkPlace()
            let slice = piece[start..<min(start + Self.bytesOfSlice, piece.count)]
            batch += try reader?.read(Array(slice)) ?? []
            bytes += slice.count
            if batch.count >= Self.rowsOfBatch || bytes >= Self.bytesOfBatch {
                try await stage(&staging)
            }
            await EventLoop.pause(.zero)
        }
    }

    /// Throws 429 if this upload's slot was given to another tenant.
    private func checkPlace() throws {
        guard !place.isHeld else { return }
        let places = call.application.uploads
        throw Problem.rateLimited(
            "The upload was stopped in favour of another tenant, because this tenant used "
                + "\(places.perKey) of the \(places.total) places; try again later.",
            retryAfter: 10)
    }

    mutating func finish(_ staging: inout Staging) async throws {
        batch += try reader?.finish() ?? []
        try await stage(&staging)
    }

    /// Begins to store the batch, after the previous one is stored. The next batch can be read
    /// meanwhile.
    private mutating func stage(_ staging: inout Staging) async throws {
        try await staging.next()
        let (rows, scope, id) = (batch, scope, id)
        staging.addTask { try await scope.stage(rows, of: id) }
        batch = []
        bytes = 0
    }
}

extension ImportUpload {
    mutating func readForm(
        _ given: MultipartReader, _ pieces: BodyStream, _ staging: inout Staging
    ) async throws {
        var form = given
        var part: FormPart?
        var said: [UInt8] = []
        var names: [String] = []
        while true {
            switch try form.next() {
            case .needsMore: form.append(try await pieces.next() ?? [])
            case .part(let next):
                part = next
                try Self.check(next, after: names)
                names.append(next.name)
                if next.name == "file" { try await begin(type: next.type) }
            case .content(let piece) where part?.name == "file": try await take(piece, &staging)
            case .content(let piece):
                said += piece
                guard said.count <= ImportLimits.options else {
                    throw Problem(.payloadTooLarge, "The part `options` is too long.")
                }
            case .partEnded:
                if part?.name == "file" {
                    try await finish(&staging)
                } else {
                    options = try ImportOptions(said)
                }
            case .ended:
                guard names.contains("file") else {
                    throw Problem.invalid([FieldError("/file", .required, "is required")])
                }
                return
            }
        }
    }

    /// Throws 422 for a part that is unknown or repeated, and for `options` after `file`, since the
    /// options are needed to read the file.
    private static func check(_ part: FormPart, after names: [String]) throws {
        guard ["options", "file"].contains(part.name) else {
            throw Problem.invalid([
                FieldError(pointer("", part.name), .unknown, "is not a part of this form")
            ])
        }
        guard !names.contains(part.name) else {
            throw Problem.invalid([FieldError("/\(part.name)", .duplicate, "appears twice")])
        }
        guard !names.contains("file") else {
            throw Problem.invalid([
                FieldError("/options", .notAllowed, "must come before the file")
            ])
        }
    }
}
