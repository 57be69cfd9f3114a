import HTTP
import JSON
import Storage
import Text

/// Why a file cannot be read any further.
struct ImportFileFault: Error, Sendable {
    /// The end of a sentence that begins with `/file`.
    var detail: String
}

/// Turns the bytes of a file into rows as they arrive.
struct ImportReader: Sendable {
    let format: ImportFormat
    let options: ImportOptions
    var csv: CSVReader?
    private var json: JSONRowReader
    /// For each column of the file, the API members that get its value; an empty list for a column
    /// that is not read. `nil` until the header line was read.
    var columns: [[String]]?
    /// Whether to remove a prefix before the texts in the cells. This server's exports add the
    /// prefix, so that spreadsheets do not run the texts as formulas.
    var isGuarded: Bool
    /// The read-only members of this server's own exports that occurred in the file. They are not
    /// imported.
    var ignored: Set<String> = []
    private var isWindows1252: Bool
    private var beginning: [UInt8]? = []
    private var isMarked = false
    /// The number of rows that were read so far. `limit` is the maximum.
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

    /// Notes on the file as a whole.
    var notes: [String] {
        let names = ImportedRow.readOnlyNames.filter { ignored.contains($0) }
        return names.isEmpty
            ? [] : ["These read-only members are not imported: \(names.joined(separator: ", "))."]
    }

    mutating func read(_ piece: [UInt8]) throws(ImportFileFault) -> [StagedRow] {
        guard beginning != nil else { return try take(decoded(piece)) }
        return try begin(with: piece, isWhole: false)
    }

    /// Collects the first bytes until the byte order mark and, in a CSV, the first line are
    /// complete. Then reads them.
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

    /// Whether a cell of the first line is the name of a known column.
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
        if csv != nil, columns == nil { throw ImportFileFault(detail: "is empty") }
        try holdToLimit()
        return rows
    }

    private func holdToLimit() throws(ImportFileFault) {
        guard count > limit else { return }
        throw ImportFileFault(
            detail: "has more than \(limit) rows: import it in parts")
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
        let place =
            isHeader
            ? "in the first line" : count == 0 ? "at its beginning" : "after row \(count)"
        let why = fault.detail.hasSuffix(".") ? String(fault.detail.dropLast()) : fault.detail
        return ImportFileFault(detail: "is wrong \(place): \(why)")
    }

    /// Removes a UTF-8 byte order mark. Throws if the first bytes show that the file is UTF-16,
    /// UTF-32 or not text.
    private mutating func withoutMark(_ bytes: [UInt8]) throws(ImportFileFault) -> [UInt8] {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            isWindows1252 = false
            return Array(bytes.dropFirst(3))
        }
        let isWide =
            bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
            || bytes.prefix(4).contains(0)
        guard !isWide else {
            throw ImportFileFault(
                detail: "is UTF-16, UTF-32 or not text, such as a packed file; unpack it, and save "
                    + "it as UTF-8")
        }
        return bytes
    }
}

/// Converts records to rows.
extension ImportReader {
    mutating func rows(
        _ records: [CSVReader.Record]
    ) throws(ImportFault) -> [StagedRow] {
        var rows: [StagedRow] = []
        for record in records {
            guard let columns else {
                self.columns = try header(record)
                continue
            }
            rows.append(row(record.flatMap { document($0, columns) }))
        }
        return rows
    }

    /// Reads the header line. Returns, for each column, the API members that get its value. A
    /// column without a name is not read, and spaces around a name are ignored.
    private mutating func header(_ record: CSVReader.Record) throws(ImportFault) -> [[String]] {
        var names: [String] = []
        for cell in try record.get() {
            guard let name = String(validating: cell, as: UTF8.self) else { throw .notUTF8 }
            names.append(ImportedRow.columnName(name))
        }
        guard format == .csv else {
            try Self.requireOnce(names)
            return names.map { $0.isEmpty ? [] : [$0] }
        }
        if Self.isOwnExport(names) { isGuarded = true }
        if let mapping = options.mapping { return try Self.mapped(names, by: mapping) }
        try Self.requireOnce(names)
        if let unknown = names.first(where: { !$0.isEmpty && !ImportedRow.isKnown($0) }) {
            throw .malformed(
                "The column \(unknown.prefix(64)) is unknown; rename it, or give a mapping."
            )
        }
        return names.map { name in
            if ImportedRow.isColumn(name) { return [name] }
            if !name.isEmpty { ignored.insert(name) }
            return []
        }
    }

    /// Applies the caller's mapping to the names of the columns. One column may supply several
    /// members: the id in a former system is often also the subject of its identities.
    private static func mapped(
        _ names: [String], by mapping: [String: String]
    ) throws(ImportFault) -> [[String]] {
        let pairs = mapping.sorted { $0.key < $1.key }.map {
            (ours: $0.key, theirs: ImportedRow.columnName($0.value))
        }
        for pair in pairs where !names.contains(where: { sameBytes($0, pair.theirs) }) {
            throw .malformed(
                "The mapping names the column \(pair.theirs), which the file does not have.")
        }
        let asked = pairs.map(\.theirs)
        try requireOnce(names.filter { name in asked.contains { sameBytes($0, name) } })
        return names.map { name in
            pairs.filter { sameBytes($0.theirs, name) }.map(\.ours)
        }
    }

    private static func requireOnce(_ names: [String]) throws(ImportFault) {
        var seen: Set<[UInt8]> = []
        for name in names where !name.isEmpty && !seen.insert(Array(name.utf8)).inserted {
            throw .malformed("Two columns have the same name: \(name.prefix(64)).")
        }
    }

    /// Whether these are the columns of this server's own user export. Its texts have a prefix that
    /// keeps spreadsheets from running them as formulas.
    private static func isOwnExport(_ names: [String]) -> Bool {
        let end = names.lastIndex { !$0.isEmpty }.map { $0 + 1 } ?? 0
        return names[..<end].elementsEqual(ownExport, by: sameBytes)
    }

    private static let ownExport = CSVColumn.all(of: UserRow.shape).map(\.name)

    private func document(
        _ cells: [[UInt8]], _ columns: [[String]]
    ) -> Result<JSONValue, ImportFault> {
        // Spreadsheets pad each row to the width of the widest one, so further cells are allowed if
        // they are empty.
        guard cells.dropFirst(columns.count).allSatisfy({ $0.allSatisfy { $0 == 0x20 } }) else {
            return .failure(.malformed("The row has more cells than there are columns."))
        }
        var members: [JSONValue.Member] = []
        for (cell, names) in zip(cells, columns) where !names.isEmpty {
            guard let given = String(validating: cell, as: UTF8.self) else {
                return .failure(.notUTF8)
            }
            guard !cell.contains(0) else {
                return .failure(.malformed("The row has a NUL character."))
            }
            let text = DisplayText.stripped(isGuarded ? CSV.unguarded(given) : given)
            for name in names { members.append(.init(name, .string(text))) }
        }
        return .success(.object(members))
    }

    mutating func row(_ record: JSONRowReader.Record) -> StagedRow {
        row(
            record.flatMap { text in
                guard String(validating: text, as: UTF8.self) != nil else {
                    return .failure(.malformed("The row is not UTF-8. Save the file as UTF-8."))
                }
                guard let document = try? JSONValue(parsing: text), document.members != nil else {
                    return .failure(.malformed("The row is not a JSON object."))
                }
                return .success(document)
            })
    }

    private mutating func row(_ document: Result<JSONValue, ImportFault>) -> StagedRow {
        count += 1
        do throws(ImportFault) {
            var row = try imported(document.get())
            if options.holdsTightly { row.holdPasswordTightly() }
            return StagedRow(row: count, .success(try row.user()))
        } catch {
            return StagedRow(row: count, .failure(error))
        }
    }

    private mutating func imported(_ document: JSONValue) throws(ImportFault) -> ImportedRow {
        let fields = ImportFields(document)
        switch format {
        case .csv, .ndjson:
            if csv == nil {
                for member in document.members ?? [] where ImportedRow.isReadOnly(member.name) {
                    ignored.insert(member.name)
                }
            }
            return try ImportedRow(own: fields, isCSV: csv != nil)
        case .auth0: return ImportedRow(auth0: fields, issuer: options.issuer)
        case .cognito:
            guard let pool = options.pool else { throw .invalid("The pool is not known.") }
            return ImportedRow(cognito: fields, pool: pool)
        case .supabase: return ImportedRow(supabase: fields, now: options.now)
        case .clerk: return ImportedRow(clerk: fields, issuer: options.issuer)
        case .keycloak: return ImportedRow(keycloak: fields, issuer: options.issuer)
        case .firebase:
            let whole =
                csv == nil ? fields : ImportFields(ImportedRow.firebase(document.members ?? []))
            return ImportedRow(
                firebase: whole, issuer: options.issuer, project: options.firebase)
        }
    }
}

extension ImportFault {
    /// The error for a row of a CSV.
    static let notUTF8 = ImportFault(
        "invalid_request",
        "The row is not UTF-8; it may be Windows-1252. Save the file as UTF-8, or send it as "
            + "text/csv; charset=windows-1252.")
}

/// The system and format that a file comes from.
package enum ImportFormat: String, Sendable, CaseIterable {
    case csv, ndjson, auth0, cognito, supabase, clerk, keycloak, firebase

    /// The name of the JSON member that contains the rows. `nil` if the document is a list, or has
    /// one row for each line.
    var container: String? {
        switch self {
        case .keycloak, .firebase: "users"
        case .cognito: "Users"
        case .csv, .ndjson, .auth0, .supabase, .clerk: nil
        }
    }

    /// Whether a CSV file of this format has no header line.
    var hasNoHeader: Bool { self == .firebase }
}

/// The limits of one import.
package enum ImportLimits {
    /// The maximum size of a request body in bytes, as sent. `unpacked` is the maximum after
    /// decompression.
    static let packed = 1 << 30
    static let unpacked = 4 << 30
    /// The maximum ratio of decompressed to compressed bytes. An ordinary file of addresses has a
    /// ratio of about 10.
    static let ratio = 200
    /// The maximum number of rows in a file.
    static let rows = 5_000_000
    /// The maximum size of a row in bytes.
    package static let row = 1 << 20
    /// The maximum size, in bytes, of the part `options` of a form.
    package static let options = 64 << 10
    static let columns = 500
    static let identities = 20
    /// The maximum length, in characters, of the notes on an imported row.
    package static let note = 500
    /// The maximum length, in bytes, of an identity's email address. A longer address is not
    /// imported.
    static let email = 320
    /// The maximum length, in bytes, of an identity's issuer. `subject` is the maximum length of an
    /// identity's subject.
    static let issuer = 512
    static let subject = 255
}
