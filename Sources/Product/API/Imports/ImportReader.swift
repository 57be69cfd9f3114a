import JSON
import Storage
import Text

/// The file as a whole cannot be read from this row on.
struct ImportFileFault: Error, Sendable {
    var detail: String
}

/// Turns the bytes of a file into rows, as they arrive.
struct ImportReader: Sendable {
    let format: ImportFormat
    let options: ImportOptions
    var csv: CSVReader?
    private var json: JSONRowReader
    /// The columns' names; nil: the first record has them.
    var columns: [String]?
    private var beginning: [UInt8]? = []
    /// Rows so far, and at most.
    var count = 0
    private let limit: Int

    init(
        _ format: ImportFormat, isCSV: Bool, _ options: ImportOptions,
        limit: Int = ImportLimits.rows
    ) {
        self.limit = limit
        self.format = format
        self.options = options
        csv = isCSV ? CSVReader() : nil
        json = JSONRowReader(container: format.container)
        if format.hasNoHeader { columns = ImportedRow.firebaseColumns }
    }

    mutating func read(_ piece: [UInt8]) throws(ImportFileFault) -> [StagedRow] {
        var piece = piece
        if let begun = beginning {
            piece = begun + piece
            beginning = piece
            guard piece.count >= 4 else { return [] }
            beginning = nil
            piece = try Self.withoutMark(piece)
        }
        return try take(piece)
    }

    mutating func finish() throws(ImportFileFault) -> [StagedRow] {
        var rows: [StagedRow] = []
        if let begun = beginning {
            beginning = nil
            rows = try take(try Self.withoutMark(begun))
        }
        do throws(ImportFault) {
            if csv != nil {
                if let record = try csv?.finish() { rows += try self.rows([record]) }
            } else if let record = try json.finish() {
                rows += [row(record)]
            }
        } catch {
            throw fileFault(error)
        }
        if csv != nil, columns == nil { throw ImportFileFault(detail: "The file is empty.") }
        try holdToLimit()
        return rows
    }

    private func holdToLimit() throws(ImportFileFault) {
        guard count > limit else { return }
        throw ImportFileFault(
            detail: "The file has more than \(limit) rows: import it in parts.")
    }

    private mutating func take(_ piece: [UInt8]) throws(ImportFileFault) -> [StagedRow] {
        let taken: [StagedRow]
        do throws(ImportFault) {
            taken =
                csv != nil
                ? try rows(csv?.read(piece) ?? []) : try json.read(piece).map { row($0) }
        } catch {
            throw fileFault(error)
        }
        try holdToLimit()
        return taken
    }

    private func fileFault(_ fault: ImportFault) -> ImportFileFault {
        ImportFileFault(detail: "After row \(count): \(fault.detail)")
    }

    /// Removes the mark of UTF-8; another encoding is named.
    private static func withoutMark(_ bytes: [UInt8]) throws(ImportFileFault) -> [UInt8] {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return Array(bytes.dropFirst(3)) }
        let isWide =
            bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
            || bytes.prefix(4).contains(0)
        guard !isWide else {
            throw ImportFileFault(detail: "The file is UTF-16 or UTF-32; save it as UTF-8.")
        }
        return bytes
    }
}
