import Cryptography
import HTTP
import Storage
import Text

/// Receives the body of an import: from pieces to staged rows.
struct ImportUpload {
    /// The one batch that is being stored.
    typealias Staging = ThrowingTaskGroup<Void, any Error>

    /// A batch is stored when it has so many rows, or came from so many bytes: with the rows of the
    /// slice that completed it.
    private static let rowsOfBatch = 500
    private static let bytesOfSlice = 16 << 10
    private static let bytesOfBatch = 1 << 20

    private let call: Call
    private let scope: TenantScope
    private let format: ImportFormat
    private let id: UUID
    private let slot: UploadSlots.Slot
    var options = ImportOptions()
    private var reader: ImportReader?
    private var batch: [StagedRow] = []
    /// Bytes of the pieces that the batch came from.
    private var bytes = 0

    /// The number of rows, which are staged under `id`.
    static func receive(
        _ call: Call, format: ImportFormat, as id: UUID, in slot: UploadSlots.Slot
    ) async throws -> (rows: Int, notes: [String]) {
        let upload = try ImportUpload(call, format, id, slot)
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
        _ call: Call, _ format: ImportFormat, _ id: UUID, _ slot: UploadSlots.Slot
    ) throws {
        self.slot = slot
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
        options.holdsTightly = call.services.holdsImportedHashesTightly
        let parameters = HeaderParameters(type)
        if let charset = parameters["charset"], charset.lowercased() != "utf-8" {
            guard Windows1252.isNamed(charset) else {
                throw Problem.invalid([
                    FieldError(
                        "/file", .invalid,
                        "is in \(DisplayText.shortened(charset, to: 64)), which is not read; save it as UTF-8"
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
            // A form's part often has another type: `curl -F file=@users.csv`.
            default: format == .csv
            }
        reader = ImportReader(format, isCSV: isCSV, options)
    }

    /// Slice by slice: between two of them the connection's loop serves others.
    mutating func take(_ piece: [UInt8], _ staging: inout Staging) async throws {
        for start in stride(from: 0, to: piece.count, by: Self.bytesOfSlice) {
            try slot.check()
            let slice = piece[start..<min(start + Self.bytesOfSlice, piece.count)]
            batch += try reader?.read(Array(slice)) ?? []
            bytes += slice.count
            if batch.count >= Self.rowsOfBatch || bytes >= Self.bytesOfBatch {
                try await stage(&staging)
            }
            await call.services.pause(.zero)
        }
    }

    mutating func finish(_ staging: inout Staging) async throws {
        batch += try reader?.finish() ?? []
        try await stage(&staging)
    }

    /// The next batch is read while PostgreSQL stores this one; a third waits for the first.
    private mutating func stage(_ staging: inout Staging) async throws {
        try await staging.next()
        let (rows, scope, id) = (batch, scope, id)
        staging.addTask { try await scope.stage(rows, of: id) }
        batch = []
        bytes = 0
    }
}
