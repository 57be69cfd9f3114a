import Storage

/// Reads comma-separated values (RFC 4180) as their pieces arrive, one record at a time.
struct CSVReader: Sendable {
    private enum State {
        case start, plain, quoted, quoteInQuoted
    }

    private var state = State.start
    private var cells: [[UInt8]] = []
    private var cell: [UInt8] = []
    private var bytes = 0
    private var fault: ImportFault?
    private var isEmpty = true
    private var endsWithReturn = false

    /// A record's cells, or why it has none.
    typealias Record = Result<[[UInt8]], ImportFault>

    /// Adds bytes and returns the records that they complete.
    mutating func read(_ piece: [UInt8]) -> [Record] {
        var records: [Record] = []
        for byte in piece { if let record = take(byte) { records.append(record) } }
        return records
    }

    /// The last record, if the file does not end with a line break. Throws if a quote is open: then
    /// the end of its record is unknown.
    mutating func finish() throws(ImportFault) -> Record? {
        if state == .quoted {
            throw ImportFault("invalid_request", "The quote that begins here is not closed.")
        }
        return isEmpty ? nil : end()
    }

    private mutating func take(_ byte: UInt8) -> Record? {
        // CR LF is one break, a single CR another.
        if endsWithReturn {
            endsWithReturn = false
            if byte == 0x0A { return nil }
        }
        bytes += 1
        if bytes > ImportLimits.row {
            fault = .longRow
            cell.removeAll()
            cells.removeAll()
        }
        switch (state, byte) {
        case (.quoted, 0x22): state = .quoteInQuoted
        case (.quoted, _): append(byte)
        case (.quoteInQuoted, 0x22):
            append(byte)
            state = .quoted
        case (_, 0x0D), (_, 0x0A):
            endsWithReturn = byte == 0x0D
            return isEmpty ? nil : end()
        case (_, 0x2C):
            endCell()
            isEmpty = false
        case (.start, 0x22):
            state = .quoted
            isEmpty = false
        case (.quoteInQuoted, _):
            fault = fault ?? .malformed("A closing quote is followed by text.")
            state = .plain
        case (_, 0x22): fault = fault ?? .malformed("A quote stands inside a cell without quotes.")
        default:
            append(byte)
            state = .plain
            isEmpty = false
        }
        return nil
    }

    private mutating func append(_ byte: UInt8) { if fault == nil { cell.append(byte) } }

    private mutating func endCell() {
        state = .start
        guard fault == nil else { return }
        cells.append(cell)
        cell = []
        if cells.count > ImportLimits.columns { fault = .malformed("The row has too many cells.") }
    }

    private mutating func end() -> Record {
        endCell()
        defer {
            cells = []
            cell = []
            bytes = 0
            fault = nil
            isEmpty = true
        }
        return fault.map { .failure($0) } ?? .success(cells)
    }
}

extension ImportFault {
    static let longRow = ImportFault(
        "payload_too_large", "The row has more than \(ImportLimits.row) bytes.")

    static func malformed(_ detail: String) -> ImportFault {
        ImportFault("invalid_request", detail)
    }

    static func invalid(_ detail: String) -> ImportFault {
        ImportFault("validation_failed", detail)
    }
}
