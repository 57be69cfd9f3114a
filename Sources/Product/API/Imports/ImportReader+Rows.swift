import JSON
import Storage
import Text

/// From records to rows.
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

    /// Our names of each column. A column without a name is not read; spaces around a name are none of it.
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
                "The column \(unknown.prefix(64)) is unknown; name it as ours is, or give a mapping."
            )
        }
        return names.map { name in
            if ImportedRow.isColumn(name) { return [name] }
            if !name.isEmpty { ignored.insert(name) }
            return []
        }
    }

    /// A column may be several of ours: the id of an old system often is the subject of its sign-ins.
    private static func mapped(
        _ names: [String], by mapping: [String: String]
    ) throws(ImportFault) -> [[String]] {
        let pairs = mapping.sorted { $0.key < $1.key }.map {
            (ours: $0.key, theirs: ImportedRow.columnName($0.value))
        }
        for pair in pairs where !names.contains(where: { sameBytes($0, pair.theirs) }) {
            throw .malformed("The mapping names the column \(pair.theirs), which is not there.")
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
            throw .malformed("Two columns have one name: \(name.prefix(64)).")
        }
    }

    /// Whether these are the columns of our own export of users, whose cells have guards.
    private static func isOwnExport(_ names: [String]) -> Bool {
        let end = names.lastIndex { !$0.isEmpty }.map { $0 + 1 } ?? 0
        return names[..<end].elementsEqual(ownExport, by: sameBytes)
    }

    private static let ownExport = CSVColumn.all(of: UserRow.shape).map(\.name)

    private func document(
        _ cells: [[UInt8]], _ columns: [[String]]
    ) -> Result<JSONValue, ImportFault> {
        // Spreadsheets write as many cells in each row as their widest has.
        guard cells.dropFirst(columns.count).allSatisfy({ $0.allSatisfy { $0 == 0x20 } }) else {
            return .failure(.malformed("The row has more cells than there are columns."))
        }
        var members: [JSONValue.Member] = []
        for (cell, names) in zip(cells, columns) where !names.isEmpty {
            guard let given = String(validating: cell, as: UTF8.self), !cell.contains(0) else {
                return .failure(.notUTF8)
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
                    return .failure(.notUTF8)
                }
                guard let document = try? JSONValue(parsing: text), document.members != nil else {
                    return .failure(.malformed("The row is no JSON object."))
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
    static let notUTF8 = ImportFault(
        "invalid_request",
        "The row is not UTF-8; it may be Windows-1252. Save the file as UTF-8, or send it as text/csv; "
            + "charset=windows-1252.")
}
