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
            rows.append(row(record.flatMap { Self.document($0, columns) }))
        }
        return rows
    }

    /// The names of the columns, by `mapping` those that are read; an empty name is not read.
    private func header(_ record: CSVReader.Record) throws(ImportFault) -> [String] {
        var names: [String] = []
        for cell in try record.get() {
            guard let name = String(validating: cell, as: UTF8.self) else { throw .notUTF8 }
            names.append(name)
        }
        guard Set(names.map { Array($0.utf8) }).count == names.count else {
            throw .malformed("Two columns have one name.")
        }
        guard format == .csv else { return names }
        if let mapping = options.mapping {
            let theirs = Set(names.map { Array($0.utf8) })
            if let missing = mapping.values.first(where: { !theirs.contains(Array($0.utf8)) }) {
                throw .malformed("The mapping names the column \(missing), which is not there.")
            }
            return names.map { name in
                mapping.first { sameBytes($0.value, name) }?.key ?? ""
            }
        }
        if let unknown = names.first(where: { !ImportedRow.isColumn($0) }) {
            throw .malformed("The column \(unknown.prefix(64)) is unknown; give a mapping.")
        }
        return names
    }

    private static func document(
        _ cells: [[UInt8]], _ columns: [String]
    ) -> Result<JSONValue, ImportFault> {
        guard cells.count <= columns.count else {
            return .failure(.malformed("The row has more cells than there are columns."))
        }
        var members: [JSONValue.Member] = []
        for (cell, name) in zip(cells, columns) where !name.isEmpty {
            guard let text = String(validating: cell, as: UTF8.self), !cell.contains(0) else {
                return .failure(.notUTF8)
            }
            members.append(.init(name, .string(text)))
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
            return StagedRow(row: count, .success(try imported(document.get()).user()))
        } catch {
            return StagedRow(row: count, .failure(error))
        }
    }

    private func imported(_ document: JSONValue) throws(ImportFault) -> ImportedRow {
        let fields = ImportFields(document)
        switch format {
        case .csv, .ndjson: return try ImportedRow(own: fields, isCSV: csv != nil)
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
        "invalid_request", "The row is not UTF-8; it may be Windows-1252. Save the file as UTF-8.")
}
