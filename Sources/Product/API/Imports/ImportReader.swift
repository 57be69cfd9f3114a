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
    /// Our names of each of the file's columns, none of one that is not read; nil: the first record has
    /// the columns' names.
    var columns: [[String]]?
    /// Whether the cells have the guards of our own exports.
    var isGuarded: Bool
    /// Members of our own exports that are not read here.
    var ignored: Set<String> = []
    private var isWindows1252: Bool
    private var beginning: [UInt8]? = []
    private var isMarked = false
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
        isGuarded = options.isGuarded
        isWindows1252 = options.isWindows1252 && isCSV
        json = JSONRowReader(container: format.container)
        if format.hasNoHeader {
            columns = ImportedRow.firebaseColumns.map { $0.isEmpty ? [] : [$0] }
        }
    }

    /// What is to be said of the file as a whole.
    var notes: [String] {
        let names = ImportedRow.readOnlyNames.filter { ignored.contains($0) }
        return names.isEmpty
            ? [] : ["Read-only, and not taken over: \(names.joined(separator: ", "))."]
    }

    mutating func read(_ piece: [UInt8]) throws(ImportFileFault) -> [StagedRow] {
        guard beginning != nil else { return try take(decoded(piece)) }
        return try begin(with: piece, isWhole: false)
    }

    /// Waits for a file's mark of its encoding, and for the first line of a CSV.
    private mutating func begin(
        with piece: [UInt8], isWhole: Bool
    ) throws(ImportFileFault) -> [StagedRow] {
        var begun = (beginning ?? []) + piece
        if !isMarked {
            beginning = begun
            guard begun.count >= 4 || isWhole else { return [] }
            begun = try withoutMark(begun)
            isMarked = true
        }
        if csv != nil {
            begun = isWindows1252 ? Windows1252.utf8(begun) : begun
            let known = knownColumns
            guard
                let dialect = CSVDialect(
                    of: begun, isWhole: isWhole,
                    isKnown: { known($0) })
            else {
                beginning = begun
                return []
            }
            csv = CSVReader(separator: dialect.separator)
            begun.removeFirst(dialect.skipped)
        }
        beginning = nil
        return try take(begun)
    }

    private func decoded(_ piece: [UInt8]) -> [UInt8] {
        isWindows1252 ? Windows1252.utf8(piece) : piece
    }

    /// Whether a cell of the first line is the name of a column that is read.
    private var knownColumns: ([UInt8]) -> Bool {
        let theirs = options.mapping.map { Set($0.values.map(ImportedRow.columnName)) }
        return { [format] cell in
            guard let text = String(validating: cell, as: UTF8.self) else { return false }
            let name = ImportedRow.columnName(text)
            return theirs?.contains(name) ?? (format == .csv && ImportedRow.isColumn(name))
        }
    }

    mutating func finish() throws(ImportFileFault) -> [StagedRow] {
        var rows: [StagedRow] = []
        if beginning != nil { rows = try begin(with: [], isWhole: true) }
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
        let isHeader = csv != nil && columns == nil
        return ImportFileFault(
            detail: (isHeader ? "In the first line: " : "After row \(count): ") + fault.detail)
    }

    /// Removes the mark of UTF-8; another encoding is named.
    private mutating func withoutMark(_ bytes: [UInt8]) throws(ImportFileFault) -> [UInt8] {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            isWindows1252 = false
            return Array(bytes.dropFirst(3))
        }
        let isWide =
            bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
            || bytes.prefix(4).contains(0)
        guard !isWide else {
            throw ImportFileFault(detail: "The file is UTF-16 or UTF-32; save it as UTF-8.")
        }
        return bytes
    }
}
